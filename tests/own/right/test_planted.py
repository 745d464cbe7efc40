"""Scripts with a fault on real ranks, in four makes: it is named, with its rank and its line."""

from pathlib import Path

import pytest

from course.own.right import table
from course.own.right.table import NOT_SEEN

PLANTS = Path(__file__).with_name("plants")
STRANGERS = Path(__file__).with_name("strangers")
pytestmark = [pytest.mark.slow, pytest.mark.sampled]

# The script, its fault, the ranks; what is named, on which rank, and the text at its line.
PLANTED = [
    ("with_ddp", "start", 2, "start", 1, "# start"),
    ("with_ddp", "past DDP", 2, "not averaged", None, "# call"),
    ("with_ddp", "mean of means", 2, "mean of means", None, "# call"),
    ("with_ddp", "changed gradient", 3, "changed gradient", 2, "# step"),
    ("with_ddp", "order of epochs", 2, "order of epochs", None, "# epochs"),
    ("with_ddp", "loss in a file", 2, "same file", None, "# text"),
    ("by_hand", "added", 3, "factor", None, "# step"),
    ("by_hand", "clip", 2, "clip", None, "# clip"),
    ("by_hand", "some", 3, "not averaged", None, ""),
    ("with_accelerate", "learning rate", 2, "learning rate", None, "# optimizer"),
    ("with_accelerate", "part of the data", 2, "part of the data", None, "prepare("),
    ("with_trainer", "drift", 2, "drift", None, "# train"),
]
# The same, made from a public report: huggingface/trl#7245, huggingface/transformers#37932,
# modelscope/ms-swift#10165, huggingface/accelerate#2926.
REPORTED = [
    ("unwrapped_forward", "not averaged", "policy.head(policy.body(good))"),
    ("worker_seeds", "same data", "DataLoader("),
    ("token_mean", "mean of means", "model(tokens)"),
    ("scheduler_too_fast", "schedule", "LinearLR("),
]


def text_of(script: Path, where: str) -> str:
    """The line of a script, such as ``with_ddp.py:30``."""
    file, _, line = where.partition(":")
    return (script.parent / file).read_text().splitlines()[int(line) - 1]


@pytest.mark.parametrize(("make", "fault", "count", "what", "rank", "text"), PLANTED)
def test_a_planted_fault_is_named_first(
    judge: object, tmp_path: Path, make: str, fault: str, count: int, what: str, rank: int | None,
    text: str,
) -> None:  # fmt: skip
    script = PLANTS / f"{make}.py"
    answer = judge(script, fault, str(tmp_path), count=count)
    found = answer.findings[0]
    assert (found.what, found.rank, found.note) == (what, rank, False), str(answer)
    assert text in text_of(script, found.where)


@pytest.mark.parametrize("make", ["with_ddp", "by_hand", "with_accelerate", "with_trainer"])
def test_without_a_fault_nothing_is_named(judge: object, tmp_path: Path, make: str) -> None:
    answer = judge(PLANTS / f"{make}.py", "none", str(tmp_path), count=3)
    assert [each for each in answer.findings if not each.note] == [], str(answer)
    states = {row.row: row.state for row in answer.rows}
    assert states[table.USED] == states[table.AFTER] == states[table.RATE] == "equal"
    assert states[table.OWN] == states[table.SAMPLES] == "differs"
    assert states[table.RESUME] == NOT_SEEN


@pytest.mark.parametrize(("name", "what", "text"), REPORTED)
def test_a_fault_of_a_public_report_is_named_first(
    judge: object, name: str, what: str, text: str
) -> None:
    script = STRANGERS / f"{name}.py"
    found = judge(script).findings[0]
    assert found.what == what and text in text_of(script, found.where)


@pytest.mark.parametrize("name", [name for name, _, _ in REPORTED])
def test_and_its_cure_is_quiet(judge: object, name: str) -> None:
    answer = judge(STRANGERS / f"{name}_cured.py")
    assert [each for each in answer.findings if not each.note] == [], str(answer)


def test_what_all_ranks_obey_alike_is_not_seen(judge: object) -> None:
    """Rank 0 alone decides which batch is skipped, for all (ecmwf/WeatherGenerator#2724)."""
    answer = judge(STRANGERS / "skip_by_rank_0.py")
    assert [each for each in answer.findings if not each.note] == []
    assert next(row.state for row in answer.rows if row.row == table.STEPS) == "equal"
