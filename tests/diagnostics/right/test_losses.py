"""Losses of several parts on real ranks: how much a target counts, if all parts agree."""

from pathlib import Path

import pytest
from diagnostics.right.test_planted import finds_nothing, is_first

from course.diagnostics.right import table
from course.diagnostics.right.table import EQUAL, NOT_SEEN

SCRIPT = Path(__file__).with_name("plants") / "losses.py"
pytestmark = [pytest.mark.slow, pytest.mark.sampled]


@pytest.mark.parametrize(
    ("make", "fault", "count", "what", "text"),
    [
        ("with_ddp", "own positives", 2, "mean of means", "# call"),
        ("by_hand", "own positives", 3, "mean of means", "# call"),
        ("with_accelerate", "own positives", 2, "mean of means", "# call"),
        ("with_ddp", "smooth, added", 2, "factor", "# backward"),
        ("by_hand", "smooth, added", 3, "factor", "# backward"),
    ],
)
def test_a_loss_of_parts_is_read(
    judge: object, make: str, fault: str, count: int, what: str, text: str
) -> None:
    is_first(judge(SCRIPT, make, fault, count=count), SCRIPT, what, None, text)


@pytest.mark.parametrize(
    ("make", "fault", "count", "state"),
    [
        ("with_ddp", "all positives", 2, EQUAL),
        ("with_accelerate", "all positives", 3, EQUAL),
        ("with_ddp", "each image", 2, NOT_SEEN),
        ("by_hand", "one part", 2, NOT_SEEN),
        ("with_ddp", "smooth, divided", 2, EQUAL),
        ("with_accelerate", "smooth, divided", 3, EQUAL),
    ],
)
def test_a_right_loss_of_parts_is_left_alone(
    judge: object, make: str, fault: str, count: int, state: str
) -> None:
    answer = judge(SCRIPT, make, fault, count=count)
    finds_nothing(answer)
    assert next(row.state for row in answer.rows if row.name == table.TARGET) == state
