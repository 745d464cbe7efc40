"""A cure is one that this script can take, and has not taken yet: planted scripts on real ranks."""

from pathlib import Path

import pytest

from course.own import Answer, watch_ranks

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

PLANTS = Path(__file__).with_name("plants")
# By script and how: the first cause, and what is said of its cure, or of what is seen.
PLANTED = {
    ("short_epochs", "workers"): ("input", "with `persistent_workers=True`"),
    ("short_epochs", "data set"): ("input", "Do once, and keep"),
    ("accumulates", "plain"): ("accumulation", "inside `with model.no_sync():`"),
    ("accumulates", "around backward"): ("accumulation", "but it begins after the forward"),
    ("accumulates", "fully_shard"): ("accumulation", "`model.set_requires_gradient_sync(last)`"),
    ("accumulates", "by hand"): ("accumulation", "Average the gradients once for each step"),
    ("accumulates", "accelerate"): ("accumulation", "`with accelerator.accumulate(model):`"),
    ("in_turns", "flag"): ("synchronization", "Call the all_reduce once in many steps"),
    ("in_turns", "gradients"): ("straggler", "Give all ranks the same work in each step"),
    ("idle", "past"): ("idle DDP", "and not `model.module(...)`"),
    ("idle", "quiet"): ("idle DDP", "Leave the last pass of each step outside of no_sync()"),
    ("same_samples", "stream"): ("not sharded", "A stream takes no sampler"),
    ("same_samples", "sampler"): ("not sharded", "has a DistributedSampler"),
    ("same_samples", "batches"): ("not sharded", "has a sampler of its own"),
    ("same_samples", "plain"): ("not sharded", "`sampler=DistributedSampler(dataset)`"),
    ("saves", "safetensors"): ("saving", "each rank its own part"),
    ("saves", "checkpoint"): ("saving", "in the background"),
}
# What must not be named of the healthy twins of some of them.
HEALTHY = {
    ("short_epochs", "persistent"): "where an epoch begins",
    ("in_turns", "rarely"): "synchronization",
}


@pytest.fixture
def ask(warm_ranks: None, tmp_path: Path) -> object:
    """What `why` answers of a planted script."""

    def asked(script: str, how: str) -> Answer:
        words = ["torchrun", "--standalone", "--nproc-per-node", "2"]
        run, ranks = watch_ranks([*words, str(PLANTS / f"{script}.py"), how, str(tmp_path)])
        assert run.ok, run.text(run.first_failed)
        return Answer(ranks)

    return asked


@pytest.mark.parametrize(("script", "how"), PLANTED)
def test_the_cure_fits_the_script(ask: object, script: str, how: str) -> None:
    cause, says = PLANTED[script, how]
    answer = ask(script, how)
    found = next(each for each in answer.causes if each.cause == cause)
    assert says in found.cure
    assert not found.line or found.line.split(":")[0] == f"{script}.py"
    if cause != "idle DDP":
        assert answer.causes[0] is found


@pytest.mark.parametrize(("script", "how"), HEALTHY)
def test_the_healthy_twin_is_not_accused_of_it(ask: object, script: str, how: str) -> None:
    assert HEALTHY[script, how] not in " ".join(each.says for each in ask(script, how).causes)
