"""Scripts that hang or fail on real ranks: the cause is named, with its rank and its line."""

import re
from pathlib import Path

import pytest
from support.patience import PATIENCE_S

from course.diagnostics.run import causes
from course.diagnostics.run.ending import HUNG, ITSELF

PLANTS = Path(__file__).with_name("plants")
pytestmark = [pytest.mark.slow, pytest.mark.sampled]

# Runs that hang: the script, its fault, the number of ranks; then the cause that is named,
# its rank, and a part of its line.
STANDING = [
    ("by_hand", "branch", 2, "different calls", None, "dist.barrier()"),
    ("by_hand", "finally", 2, "hidden error", 1, 'raise ValueError("a bad sample")'),
    ("by_hand", "finally", 4, "hidden error", 3, 'raise ValueError("a bad sample")'),
    ("by_hand", "thread", 2, "two threads", 0, "dist.all_gather_object("),
    ("by_hand", "order", 2, "different calls", None, "dist.barrier()"),
    ("by_hand", "root", 2, "same call", None, "dist.broadcast(torch.ones(4), src=rank)"),
    ("by_hand", "receives", 2, "unmatched messages", None, "dist.recv(loss.detach(),"),
    ("by_hand", "lock", 2, "outside", None, "threading.Event().wait()"),
    ("with_ddp", "leftover", 2, "different calls", None, "dist.barrier()"),
    ("with_ddp", "no backward", 4, "different calls", None, ""),
    ("with_accelerate", "branch", 2, "different calls", None, ""),
]
# Runs that fail, in the same form.
FAILING = [
    ("with_ddp", "error", 2, "error", 1, 'raise ValueError("a bad sample")'),
    ("with_ddp", "error", 4, "error", 3, 'raise ValueError("a bad sample")'),
    ("with_ddp", "exits", 2, "error", 1, 'sys.exit("no more data")'),
    ("with_ddp", "unused", 2, "unused parameters", 1, "loss = model("),
    ("with_ddp", "sizes", 2, "different sizes", None, ""),
    ("with_ddp", "killed", 2, "killed", 1, ""),
    ("with_ddp", "killed", 4, "killed", 3, ""),
    ("by_hand", "more", 2, "different sizes", None, "dist.all_reduce(loss.detach())"),
    ("by_hand", "ends", 2, "ended rank", 1, "dist.barrier()"),
]


def text_of(where: str) -> str:
    """The text of a line of a plant, given as ``with_ddp.py:30``."""
    file, _, line = where.partition(":")
    return (PLANTS / file).read_text().splitlines()[int(line) - 1]


@pytest.mark.parametrize(("make", "fault", "count", "what", "rank", "line"), STANDING)
def test_a_run_that_stands_is_ended_and_says_why(
    judge: object, make: str, fault: str, count: int, what: str, rank: int | None, line: str
) -> None:
    _, verdict = judge(make, fault, count)
    assert verdict.ended == HUNG
    finding = verdict.findings[0]
    assert (finding.what, finding.rank) == (what, rank), finding.says
    assert line in text_of(finding.where)
    assert len(verdict.ranks) == count


@pytest.mark.parametrize(("make", "fault", "count", "what", "rank", "line"), FAILING)
def test_a_run_that_fails_says_where(
    judge: object, make: str, fault: str, count: int, what: str, rank: int | None, line: str
) -> None:
    run, verdict = judge(make, fault, count, patience=PATIENCE_S)
    assert not run.ok and verdict.ended == ITSELF
    finding = verdict.findings[0]
    assert finding.what == what, finding.says
    assert rank is None or finding.rank == rank
    assert not line or line in text_of(finding.where)


def test_the_parameters_have_names_and_the_step_a_number(judge: object) -> None:
    _, verdict = judge("with_ddp", "unused", patience=PATIENCE_S)
    finding = verdict.findings[0]
    assert "`extra.weight`, `extra.bias`" in finding.says and finding.step == 6


def test_sizes_and_calls_of_both_ranks_are_said(judge: object) -> None:
    _, verdict = judge("with_ddp", "sizes", patience=PATIENCE_S)
    says = verdict.findings[0].says
    assert "4 B, float32[1]" in says and "backward pass 7" in says
    assert re.search(r"rank 0 never called all_reduce at with_ddp.py:\d+, rank 1 called it", says)


def test_every_cause_that_can_be_named_is_planted() -> None:
    planted = {what for _, _, _, what, _, _ in (*STANDING, *FAILING)}
    by_data = {"not joined", "missing call", "later line", "unseen ranks"}  # test_on_snapshots.py
    assert planted | by_data == {cause.name for cause in causes.ALL}
