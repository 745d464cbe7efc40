"""Evaluations on real ranks that gather all results, with the repeated samples or without."""

from pathlib import Path

import pytest
from diagnostics.right.test_planted import finds_nothing, is_first

SCRIPT = Path(__file__).with_name("plants") / "gathers.py"
pytestmark = [pytest.mark.slow, pytest.mark.sampled]


@pytest.mark.parametrize(
    ("make", "fault", "count"),
    [
        ("with_accelerate", "counted", 2),
        ("with_accelerate", "in_an_object", 3),
        ("with_ddp", "counted", 3),
        ("by_hand", "in_an_object", 2),
    ],
)
def test_what_was_repeated_is_named_where_it_counts(
    judge: object, make: str, fault: str, count: int
) -> None:
    text = f"# {fault.replace('_', ' ')}"
    is_first(judge(SCRIPT, make, fault, count=count), SCRIPT, "evaluation", None, text)


@pytest.mark.parametrize(
    ("make", "fault", "count"),
    [
        ("with_accelerate", "for_metrics", 2),
        ("with_accelerate", "cut_in_the_loop", 3),
        ("with_ddp", "cut_in_the_loop", 2),
        ("with_accelerate", "cut_later", 2),
        ("with_accelerate", "masked", 2),
        ("by_hand", "masked", 3),
        ("with_accelerate", "fits", 2),
        ("with_ddp", "fits", 3),
    ],
)
def test_what_is_dropped_is_left_alone(judge: object, make: str, fault: str, count: int) -> None:
    answer = judge(SCRIPT, make, fault, count=count)
    finds_nothing(answer)
