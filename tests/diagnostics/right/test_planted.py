"""Scripts with a planted fault on real ranks: `right` names it, with its rank and its line."""

import re
import shutil
from pathlib import Path

import pytest

from course.core.files import ROOT
from course.diagnostics import RightAnswer
from course.diagnostics.right import table
from course.diagnostics.right.table import EQUAL, NOT_SEEN

README = (ROOT / "README.md").read_text(encoding="utf-8")
PLANTS = Path(__file__).with_name("plants")
STRANGERS = Path(__file__).with_name("strangers")
pytestmark = [pytest.mark.slow, pytest.mark.sampled]

# Script, fault, number of ranks; then the finding's name, its rank, and the text at its line.
PLANTED = [
    ("with_ddp", "start", 2, "start", 1, "# start"),
    ("with_ddp", "past DDP", 2, "not averaged", None, "# call"),
    ("with_ddp", "mean of means", 2, "mean of means", None, "# call"),
    ("with_ddp", "changed gradient", 3, "changed gradient", 2, "# step"),
    ("with_ddp", "order of epochs", 2, "order of epochs", None, "# epochs"),
    ("with_ddp", "loss in a file", 2, "same file", None, "# text"),
    ("with_ddp", "weights put back", 3, "drift", 2, "# back"),
    ("by_hand", "weights put back", 2, "drift", 1, "# back"),
    ("with_ddp", "clamps in hooks", 2, "clip", None, "# hook"),
    ("by_hand", "clips in hooks", 3, "clip", None, "# hook"),
    ("with_accelerate", "clips after each pass", 2, "clip", None, "# hook"),
    ("by_hand", "added", 3, "factor", None, "# step"),
    ("by_hand", "clip", 2, "clip", None, "# clip"),
    ("by_hand", "some", 3, "not averaged", None, ""),
    ("with_accelerate", "learning rate", 2, "learning rate", None, "# optimizer"),
    ("with_accelerate", "part of the data", 2, "part of the data", None, "prepare("),
    ("with_trainer", "drift", 2, "drift", None, "# train"),
    ("sharded", "clip", 2, "clip", None, "optimizer.step()"),
    ("sharded", "same data", 3, "same data", None, "# call"),
    ("sharded", "learning rate", 2, "learning rate", None, "# optimizer"),
    ("sharded", "mode", 2, "mode", 0, ""),
]
# Script, how it averages, fault, number of ranks; then the finding's name, its rank, and the text
# at its line.
BY_TOPIC = [
    ("evaluates", "with_ddp", "share", 2, "evaluation", 0, "# evaluation"),
    ("evaluates", "with_accelerate", "share", 2, "evaluation", 0, "# evaluation"),
    ("evaluates", "by_hand", "repeats", 2, "evaluation", None, "# evaluation"),
    ("evaluates", "with_accelerate", "repeats", 2, "evaluation", None, "# evaluation"),
    ("evaluates", "with_ddp", "rank 0", 2, "evaluation", 0, "# evaluation"),
    ("evaluates", "with_accelerate", "rank 0", 2, "evaluation", 0, "# evaluation"),
    ("gathers", "with_accelerate", "counted", 2, "evaluation", None, "# counted"),
    ("gathers", "with_accelerate", "in_an_object", 3, "evaluation", None, "# in an object"),
    ("gathers", "with_ddp", "counted", 3, "evaluation", None, "# counted"),
    ("gathers", "by_hand", "in_an_object", 2, "evaluation", None, "# in an object"),
    ("resumes", "by_hand", "rank 0", 2, "resume", None, "# optimizer"),
    ("resumes", "with_accelerate", "rank 0", 2, "resume", None, "# optimizer"),
    ("resumes", "with_ddp", "other steps", 2, "resume", None, "# load"),
    ("resumes", "with_accelerate", "other steps", 2, "resume", None, "# load"),
    ("resumes", "with_ddp", "no state", 2, "resume", None, "# load"),
    ("resumes", "with_accelerate", "no state", 2, "resume", None, "# load"),
    ("resumes", "with_ddp", "first epoch", 2, "resume", None, "# epochs"),
    ("resumes", "by_hand", "first epoch", 2, "resume", None, "# epochs"),
    ("averages", "with_ddp", "copied before", 2, "other model", None, "# average"),
    ("averages", "with_ddp", "late", 3, "other model", None, "# average"),
    ("averages", "by_hand", "copied before", 3, "other model", None, "# average"),
    ("averages", "with_accelerate", "late", 2, "other model", None, "# average"),
    ("averages", "with_accelerate", "built late", 2, "other model", None, "# teacher"),
    ("losses", "with_ddp", "own positives", 2, "mean of means", None, "# call"),
    ("losses", "by_hand", "own positives", 3, "mean of means", None, "# call"),
    ("losses", "with_accelerate", "own positives", 2, "mean of means", None, "# call"),
    ("losses", "with_ddp", "smooth, added", 2, "factor", None, "# backward"),
    ("losses", "by_hand", "smooth, added", 3, "factor", None, "# backward"),
    ("shares", "with_ddp", "own order", 2, "repeated data", None, "# loader"),
    ("shares", "by_hand", "own order", 3, "repeated data", None, "# loader"),
    ("shares", "with_accelerate", "own order", 2, "repeated data", None, "prepare("),
    ("shares", "with_ddp", "one stream", 3, "repeated data", None, "# loader"),
    ("shares", "by_hand", "one stream and workers", 2, "repeated data", None, "# loader"),
    ("shares", "with_accelerate", "one stream", 2, "repeated data", None, "# loader"),
]
MAKES = ["with_ddp", "by_hand", "with_accelerate"]
# Script, how it averages, what it does, number of ranks; then a row of the table, and its state.
RIGHT_BY_TOPIC = [
    *[("evaluates", make, "none", 2, "", "") for make in MAKES],
    *[("evaluates", make, "each its own", 2, "", "") for make in MAKES],
    *[("evaluates", make, "rank 0 evaluates all", 2, "", "") for make in MAKES],
    ("gathers", "with_accelerate", "for_metrics", 2, "", ""),
    ("gathers", "with_accelerate", "cut_in_the_loop", 3, "", ""),
    ("gathers", "with_ddp", "cut_in_the_loop", 2, "", ""),
    ("gathers", "with_accelerate", "cut_later", 2, "", ""),
    ("gathers", "with_accelerate", "masked", 2, "", ""),
    ("gathers", "by_hand", "masked", 3, "", ""),
    ("gathers", "with_accelerate", "fits", 2, "", ""),
    ("gathers", "with_ddp", "fits", 3, "", ""),
    *[("resumes", make, "none", 2, "", "") for make in MAKES],
    *[("resumes", make, "starts from it", 2, "", "") for make in MAKES],
    ("averages", "with_ddp", "copied after", 3, table.OTHERS, EQUAL),
    ("averages", "with_accelerate", "copied after", 2, table.OTHERS, EQUAL),
    ("averages", "with_ddp", "each its own copy", 2, table.OTHERS, EQUAL),
    ("averages", "by_hand", "rank 0 alone", 2, table.OTHERS, NOT_SEEN),
    ("averages", "with_ddp", "by turns", 2, table.OTHERS, NOT_SEEN),
    ("averages", "sharded", "copied after", 2, table.OTHERS, NOT_SEEN),  # each rank has a shard
    ("losses", "with_ddp", "all positives", 2, table.TARGET, EQUAL),
    ("losses", "with_accelerate", "all positives", 3, table.TARGET, EQUAL),
    ("losses", "with_ddp", "each image", 2, table.TARGET, NOT_SEEN),
    ("losses", "by_hand", "one part", 2, table.TARGET, NOT_SEEN),
    ("losses", "with_ddp", "smooth, divided", 2, table.TARGET, EQUAL),
    ("losses", "with_accelerate", "smooth, divided", 3, table.TARGET, EQUAL),
    ("shares", "with_ddp", "none", 3, "", ""),
    ("shares", "with_accelerate", "none", 2, "", ""),
    ("shares", "with_accelerate", "padded", 2, "", ""),
    ("shares", "with_accelerate", "padded", 3, "", ""),
    ("shares", "with_ddp", "with replacement", 2, "", ""),
    ("shares", "by_hand", "repeated", 3, "", ""),
    ("shares", "with_ddp", "repeated", 2, "", ""),
    ("shares", "with_accelerate", "all streamed", 2, "", ""),
    ("shares", "with_ddp", "all streamed", 3, "", ""),
    ("shares", "by_hand", "all permuted", 2, "", ""),
    ("shares", "with_ddp", "shards again", 2, "", ""),
    ("shares", "with_ddp", "takes its part", 2, "", ""),
    ("shares", "by_hand", "skips others'", 2, "", ""),
]
# Scripts made from public reports: huggingface/trl#7245, huggingface/transformers#37932,
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


def is_first(answer: RightAnswer, script: Path, what: str, rank: int | None, text: str) -> None:
    """Assert that the first finding has this name and rank, and a line with this text."""
    finding = answer.findings[0]
    assert (finding.what, finding.rank, finding.note) == (what, rank, False), str(answer)
    assert text in text_of(script, finding.where)


def finds_nothing(answer: RightAnswer) -> None:
    """Assert that there is no finding, except for notes."""
    assert [finding for finding in answer.findings if not finding.note] == [], str(answer)


@pytest.mark.parametrize(("make", "fault", "count", "what", "rank", "text"), PLANTED)
def test_a_planted_fault_is_named_first(
    judge: object, tmp_path: Path, make: str, fault: str, count: int, what: str, rank: int | None,
    text: str,
) -> None:  # fmt: skip
    script = PLANTS / f"{make}.py"
    is_first(judge(script, fault, str(tmp_path), count=count), script, what, rank, text)


@pytest.mark.parametrize(("script", "make", "fault", "count", "what", "rank", "text"), BY_TOPIC)
def test_a_fault_of_one_topic_is_named_first(
    judge: object, tmp_path: Path, script: str, make: str, fault: str, count: int, what: str,
    rank: int | None, text: str,
) -> None:  # fmt: skip
    path = PLANTS / f"{script}.py"
    is_first(judge(path, make, fault, str(tmp_path), count=count), path, what, rank, text)


@pytest.mark.parametrize(("script", "make", "does", "count", "row", "state"), RIGHT_BY_TOPIC)
def test_what_only_looks_like_a_fault_is_left_alone(
    judge: object, tmp_path: Path, script: str, make: str, does: str, count: int, row: str,
    state: str,
) -> None:  # fmt: skip
    answer = judge(PLANTS / f"{script}.py", make, does, str(tmp_path), count=count)
    finds_nothing(answer)
    assert not row or {other.name: other.state for other in answer.rows}[row] == state


@pytest.mark.parametrize("make", [*MAKES, "with_trainer"])
def test_without_a_fault_nothing_is_named(judge: object, tmp_path: Path, make: str) -> None:
    answer = judge(PLANTS / f"{make}.py", "none", str(tmp_path), count=3)
    finds_nothing(answer)
    states = {row.name: row.state for row in answer.rows}
    assert states[table.USED] == states[table.AFTER] == states[table.RATE] == "equal"
    assert states[table.OWN] == states[table.SAMPLES] == "differs"
    assert states[table.RESUME] == NOT_SEEN


def test_all_but_weights_and_gradients_of_shards_is_compared(judge: object) -> None:
    answer = judge(PLANTS / "sharded.py", "none", count=3)
    finds_nothing(answer)
    states = {row.name: row.state for row in answer.rows}
    assert states[table.MODE] == states[table.RATE] == states[table.TARGET] == "equal"
    assert states[table.SAMPLES] == "differs"
    assert states[table.START] == states[table.USED] == states[table.AFTER] == NOT_SEEN


@pytest.mark.parametrize(("name", "what", "text"), REPORTED)
def test_a_fault_of_a_public_report_is_named_first(
    judge: object, name: str, what: str, text: str
) -> None:
    script = STRANGERS / f"{name}.py"
    finding = judge(script).findings[0]
    assert finding.what == what and text in text_of(script, finding.where)


def test_the_readme_shows_a_real_answer(judge: object, tmp_path: Path) -> None:
    script = shutil.copy(STRANGERS / "unwrapped_forward.py", tmp_path / "train.py")
    answer = str(judge(script))
    shown = re.search(r"^\$ .*? train.py\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[1]
    lines = [line.removesuffix("...").rstrip() for line in shown.splitlines()]
    assert len(lines) > 8 and [line for line in lines if line not in answer] == []


@pytest.mark.parametrize("name", [name for name, _, _ in REPORTED])
def test_the_cured_script_of_a_public_report_has_no_finding(judge: object, name: str) -> None:
    answer = judge(STRANGERS / f"{name}_cured.py")
    finds_nothing(answer)


def test_what_all_ranks_obey_alike_is_not_seen(judge: object) -> None:
    """Rank 0 alone decides which batch is skipped, for all (ecmwf/WeatherGenerator#2724)."""
    answer = judge(STRANGERS / "skip_by_rank_0.py")
    finds_nothing(answer)
    assert next(row.state for row in answer.rows if row.name == table.STEPS) == "equal"
