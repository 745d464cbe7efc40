"""Scripts on real ranks that deal out their data themselves, wrongly or in ways that look wrong."""

from pathlib import Path

import pytest
from diagnostics.right.test_planted import finds_nothing, is_first

SCRIPT = Path(__file__).with_name("plants") / "shares.py"
pytestmark = [pytest.mark.slow, pytest.mark.sampled]


@pytest.mark.parametrize(
    ("make", "fault", "count", "text"),
    [
        ("with_ddp", "own order", 2, "# loader"),
        ("by_hand", "own order", 3, "# loader"),
        ("with_accelerate", "own order", 2, "prepare("),
        ("with_ddp", "one stream", 3, "# loader"),
        ("by_hand", "one stream and workers", 2, "# loader"),
        ("with_accelerate", "one stream", 2, "# loader"),
    ],
)
def test_what_is_not_shared_out_is_named_first(
    judge: object, make: str, fault: str, count: int, text: str
) -> None:
    is_first(judge(SCRIPT, make, fault, count=count), SCRIPT, "repeated data", None, text)


@pytest.mark.parametrize(
    ("make", "fault", "count"),
    [
        ("with_ddp", "none", 3),
        ("with_accelerate", "none", 2),
        ("with_accelerate", "padded", 2),
        ("with_accelerate", "padded", 3),
        ("with_ddp", "with replacement", 2),
        ("by_hand", "repeated", 3),
        ("with_ddp", "repeated", 2),
        ("with_accelerate", "all streamed", 2),
        ("with_ddp", "all streamed", 3),
        ("by_hand", "all permuted", 2),
        ("with_ddp", "shards again", 2),
        ("with_ddp", "takes its part", 2),
        ("by_hand", "skips others'", 2),
    ],
)
def test_what_looks_like_it_is_left_alone(judge: object, make: str, fault: str, count: int) -> None:
    finds_nothing(judge(SCRIPT, make, fault, count=count))
