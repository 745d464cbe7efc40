"""A cure is one that the script can still apply: planted scripts on real ranks."""

from pathlib import Path

import pytest
from support.watching import watch_ranks

from course.diagnostics import WhyAnswer

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

PLANTS = Path(__file__).with_name("plants")
# By script and its argument: the first cause, and a part of its cure. These causes are facts on any
# machine; the cures of other causes are judged in test_recorded.py.
PLANTED = {
    ("idle", "past"): ("idle DDP", "and not `model.module(...)`"),
    ("idle", "quiet"): ("idle DDP", "Leave the last pass of each step outside of no_sync()"),
    ("same_samples", "stream"): ("not sharded", "A stream takes no sampler"),
    ("same_samples", "sampler"): ("not sharded", "has a DistributedSampler"),
    ("same_samples", "batches"): ("not sharded", "has a sampler of its own"),
    ("same_samples", "plain"): ("not sharded", "`sampler=DistributedSampler(dataset)`"),
}


@pytest.fixture
def ask(warm_ranks: None, tmp_path: Path) -> object:
    """Run a planted script on real ranks, and return the answer of `why`."""

    def answer(script: str, how: str) -> WhyAnswer:
        words = ["torchrun", "--standalone", "--nproc-per-node", "2"]
        run, ranks = watch_ranks([*words, str(PLANTS / f"{script}.py"), how, str(tmp_path)])
        assert run.ok, run.text(run.first_failed)
        return WhyAnswer(ranks)

    return answer


@pytest.mark.parametrize(("script", "how"), PLANTED)
def test_the_cure_fits_the_script(ask: object, script: str, how: str) -> None:
    cause, says = PLANTED[script, how]
    answer = ask(script, how)
    match = next(candidate for candidate in answer.causes if candidate.name == cause)
    assert says in match.cure
    assert not match.line or match.line.split(":")[0] == f"{script}.py"
    if cause != "idle DDP":
        assert answer.causes[0] is match
