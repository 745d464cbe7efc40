"""A rehearsal counts as the real run on the CPU does: the peak within 5 %, each kind within 3 %.

Both are counted by the same ledger, in processes that `tests/tools/count_bytes.py` forks.
"""

import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest
from support.launching import clean_environment

from course.core import ROOT
from course.diagnostics.fit import client
from course.diagnostics.fit.account import KEPT
from course.diagnostics.fit.command import Script

TOOL = ROOT / "tests" / "tools" / "count_bytes.py"
OWN, ZOO = Path(__file__).with_name("scripts"), Path(__file__).parents[1] / "zoo"
CURES = OWN / "cures.py"
EACH_TIME = [OWN / "no_sync.py", OWN / "hsdp.py"]
OTHERS = [
    *(OWN / f"{name}.py" for name in (
        "adapters", "bert_trainer", "by_configuration", "convolutions", "copies", "decoder",
        "fixed_embedding", "keeps_whole", "on_gpus", "selects", "tied", "unique_words",
    )),
    *(ZOO / f"{name}.py" for name in (
        "accelerate_accumulates", "accumulates_sharded", "averaged_weights", "batch_norm",
        "by_hand", "checkpoints_activations", "clips", "distills", "frozen_body", "gan",
        "hooks_by_hand", "joins", "mixed_precision", "one_rank", "own_batches",
        "persistent_workers", "plain_ddp", "sharded", "sixteen_bits", "stream",
        "tensor_parallel", "two_heads", "two_optimizers", "validates", "with_accelerate",
        "with_trainer", "workers", "zero",
    )),
]  # fmt: skip
PEAK, KIND = 0.05, 0.03
SMALL = 0.003  # of the peak: a smaller kind need not be right


def counted(ranks: str, commands: Sequence[Sequence[str | Path]]) -> list[dict]:
    """Return what the tool counts for each of these scripts, given with their arguments."""
    env = clean_environment() | {"PYTHONPATH": f"{ROOT / 'tests'}:{ROOT}"}
    quoted = [shlex.join(map(str, words)) for words in commands]
    command = [sys.executable, "-W", "ignore", str(TOOL), ranks, *quoted]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def compare(count: dict) -> None:
    """Fail unless the rehearsal has the bytes of the real run."""
    name = f"{Path(count['script']).stem} on {count['ranks']} ranks"
    assert "account" in count["rehearsed"], (name, count["rehearsed"])
    assert "account" in count["real"], (name, count["real"])
    rehearsed, real = count["rehearsed"]["account"], count["real"]["account"]
    assert rehearsed["peak"] == pytest.approx(real["peak"], rel=PEAK), name
    for kind, nbytes in real["by"].items():
        most = SMALL * real["peak"]
        assert rehearsed["by"][kind] == pytest.approx(nbytes, rel=KIND, abs=most), (name, kind)


@pytest.mark.slow
def test_two_scripts_each_time() -> None:
    counts = counted("2", [[script] for script in EACH_TIME])
    assert len(counts) == len(EACH_TIME)
    for count in counts:
        compare(count)


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("script", OTHERS, ids=lambda path: path.stem)
def test_the_others_on_one_and_two_ranks(script: Path) -> None:
    counts = counted("1,2", [[script]])
    assert len(counts) == 2
    for count in counts:
        compare(count)


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("script", EACH_TIME, ids=lambda path: path.stem)
def test_four_ranks(script: Path) -> None:
    (count,) = counted("4", [[script]])
    compare(count)


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("model", ["layers", "bert", "decoder"])
def test_advice_has_the_bytes_of_the_real_run_that_follows_it(model: str) -> None:
    with client.open_client(Script(str(CURES), ["cpu", model])) as rehearsals:
        before = rehearsals.rehearse(2)
        changes: dict[str, dict] = {"batch": {"batch": before.batch // 4, "passes": 4}}
        changes |= {name: {name: True} for name in ("autocast", "checkpoint", "shard")}
        changes[" ".join(changes)] = {
            name: value for change in changes.values() for name, value in change.items()
        }
        advice = rehearsals.rehearse_all([(2, change) for change in changes.values()])
    counts = counted("2", [[CURES, "cpu", model, *cures.split()] for cures in changes])
    for rehearsal, count, cures in zip(advice, counts, changes, strict=True):
        compare(count | {"rehearsed": {"account": asdict(rehearsal.account)}})
        assert rehearsal.account.peak != before.account.peak, cures


@pytest.mark.slow
@pytest.mark.sampled
def test_offload_moves_to_the_host_what_a_shard_keeps() -> None:
    with client.open_client(Script(str(CURES), ["cuda", "layers"])) as rehearsals:
        offloaded = rehearsals.rehearse(2, offload=True).account
    with client.open_client(Script(str(CURES), ["cuda", "layers", "offload"])) as rehearsals:
        by_hand = rehearsals.rehearse(2).account
    (count,) = counted("2", [[CURES, "cpu", "layers", "shard"]])
    real = count["real"]["account"]
    assert (offloaded.peak, offloaded.host) == (by_hand.peak, by_hand.host)
    kept = [kind for kind in KEPT if not offloaded.by[kind]]
    assert kept == list(KEPT)
    sharded = [sum(by[kind] for kind in KEPT) for _, by in real["series"]]
    assert offloaded.host == pytest.approx(max(sharded), rel=KIND)
