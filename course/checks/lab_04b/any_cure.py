"""What the three exercises of the clinic share: their `causes()` name the fault of every run."""

import math
from collections.abc import Callable

from course.checks.engine.catalogue import exercise_of
from course.checks.engine.reference import CLOSE
from course.checks.lab_04b import on_rank_clinic


class AnyCure:
    """The checks of an exercise that cures runs."""

    def name_causes(self, alone: Callable, wanted: dict[str, int]) -> None:
        """The learner's causes are those at `wanted` (by number) in the exercise's CAUSES."""
        named, causes = alone(on_rank_clinic.causes, exercise_of(self))
        assert set(named) == set(wanted), (
            f"the runs are {', '.join(wanted)}; causes() speaks of {', '.join(named)}"
        )
        wrong = [name for name, number in wanted.items() if named[name] != causes[number]]
        assert not wrong, f"{wrong[0]} does not come from: {named[wrong[0]]}"


def agree(got: float, right: float) -> bool:
    """Whether two numbers are equal up to rounding, or both NaN."""
    both_nan = math.isnan(got) and math.isnan(right)
    return both_nan or math.isclose(got, right, rel_tol=CLOSE)
