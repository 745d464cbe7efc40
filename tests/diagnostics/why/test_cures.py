"""A cure is one that the script can still apply: planted scripts on real ranks."""

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

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


@pytest.mark.parametrize(("script", "how"), PLANTED)
def test_the_cure_fits_the_script(answer: object, script: str, how: str) -> None:
    cause, says = PLANTED[script, how]
    result = answer(script, how)
    match = next(candidate for candidate in result.causes if candidate.name == cause)
    assert says in match.cure
    assert not match.line or match.line.split(":")[0] == f"{script}.py"
    if cause != "idle DDP":
        assert result.causes[0] is match
