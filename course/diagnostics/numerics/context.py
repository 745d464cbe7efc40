"""On a rank: what every probe of this package works with."""

from typing import NamedTuple

from course.diagnostics.numerics.fence import Fence
from course.diagnostics.numerics.training import TrainingReport
from course.diagnostics.watch.lines import Lines


class RankContext(NamedTuple):
    """The report to fill in, the lines of the user's, and the fence around each probe."""

    report: TrainingReport
    lines: Lines
    fence: Fence
