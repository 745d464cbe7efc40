"""A rehearsal counts what the real run on the CPU holds: the peak within 5 %, each kind within 3 %.

Both are counted by the same ledger, in processes that `tests/tools/count_bytes.py` forks.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.launching import clean_environment

from course.core import ROOT

TOOL = ROOT / "tests" / "tools" / "count_bytes.py"
OWN, ZOO = Path(__file__).with_name("scripts"), Path(__file__).parents[1] / "zoo"
EACH_TIME = [OWN / "no_sync.py", OWN / "hsdp.py"]
OTHERS = [
    *(OWN / f"{name}.py" for name in (
        "adapters", "bert_trainer", "by_configuration", "convolutions", "decoder",
        "fixed_embedding", "keeps_whole", "on_gpus", "selects", "tied",
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
SMALL = 0.003  # of the peak: a kind of no more need not be right


def counted(ranks: str, scripts: list[Path]) -> list[dict]:
    """What the tool prints of these scripts."""
    env = clean_environment() | {"PYTHONPATH": f"{ROOT / 'tests'}:{ROOT}"}
    command = [sys.executable, "-W", "ignore", str(TOOL), ranks, *map(str, scripts)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def compare(found: dict) -> None:
    """Raise if a rehearsal is not what was counted."""
    name = f"{Path(found['script']).stem} on {found['ranks']} ranks"
    assert "account" in found["rehearsed"], (name, found["rehearsed"])
    assert "account" in found["real"], (name, found["real"])
    told, real = found["rehearsed"]["account"], found["real"]["account"]
    assert told["peak"] == pytest.approx(real["peak"], rel=PEAK), name
    for kind, nbytes in real["by"].items():
        most = SMALL * real["peak"]
        assert told["by"][kind] == pytest.approx(nbytes, rel=KIND, abs=most), (name, kind)


@pytest.mark.slow
def test_two_scripts_each_time() -> None:
    found = counted("2", EACH_TIME)
    assert len(found) == len(EACH_TIME)
    for each in found:
        compare(each)


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("script", OTHERS, ids=lambda path: path.stem)
def test_the_others_on_one_and_two_ranks(script: Path) -> None:
    found = counted("1,2", [script])
    assert len(found) == 2
    for each in found:
        compare(each)


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("script", EACH_TIME, ids=lambda path: path.stem)
def test_four_ranks(script: Path) -> None:
    (found,) = counted("4", [script])
    compare(found)
