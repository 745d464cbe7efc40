"""Scripts on real ranks that first call a model late, without gradients."""

from pathlib import Path

import pytest
from diagnostics.right.test_planted import finds_nothing, is_first

from course.diagnostics.right import table
from course.diagnostics.right.table import EQUAL, NOT_SEEN

SCRIPT = Path(__file__).with_name("plants") / "averages.py"
pytestmark = [pytest.mark.slow, pytest.mark.sampled]


@pytest.mark.parametrize(
    ("make", "fault", "count", "text"),
    [
        ("with_ddp", "copied before", 2, "# average"),
        ("with_ddp", "late", 3, "# average"),
        ("by_hand", "copied before", 3, "# average"),
        ("with_accelerate", "late", 2, "# average"),
        ("with_accelerate", "built late", 2, "# teacher"),
    ],
)
def test_a_model_that_differs_is_named_whenever_it_is_called(
    judge: object, make: str, fault: str, count: int, text: str
) -> None:
    is_first(judge(SCRIPT, make, fault, count=count), SCRIPT, "other model", None, text)


@pytest.mark.parametrize(
    ("make", "fault", "count", "state"),
    [
        ("with_ddp", "copied after", 3, EQUAL),
        ("with_accelerate", "copied after", 2, EQUAL),
        ("with_ddp", "each its own copy", 2, EQUAL),
        ("by_hand", "rank 0 alone", 2, NOT_SEEN),
        ("with_ddp", "by turns", 2, NOT_SEEN),
        ("sharded", "copied after", 2, NOT_SEEN),  # each rank has a shard of it
    ],
)
def test_a_model_that_is_right_is_left_alone(
    judge: object, make: str, fault: str, count: int, state: str
) -> None:
    answer = judge(SCRIPT, make, fault, count=count)
    finds_nothing(answer)
    assert next(row.state for row in answer.rows if row.name == table.OTHERS) == state
