"""On a rank: the objects that every probe of this package shares."""

from typing import NamedTuple

from course.diagnostics.numerics.fence import Fence
from course.diagnostics.numerics.training import TrainingReport
from course.diagnostics.watch.lines import Lines


class RankContext(NamedTuple):
    """The report to fill in, the lookup of the user's lines, and the fence around each probe."""

    report: TrainingReport
    lines: Lines
    fence: Fence
