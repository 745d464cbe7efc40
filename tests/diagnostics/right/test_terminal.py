"""`right` as a user types it: the script's own output, the answer, the exit code, the JSON."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.launching import clean_environment

from course.core import ROOT
from course.diagnostics.right import causes, table

STRANGERS = Path(__file__).with_name("strangers")
PAGE = (ROOT / "course" / "diagnostics" / "right" / "how.md").read_text(encoding="utf-8")
RANKS = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")

# A script that fails in its third step, on all ranks.
FAILS = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(8, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(40):
    assert step < 2, "a bad batch"
    model(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
"""


def typed(folder: Path, *words: str) -> subprocess.CompletedProcess:
    """Run a command in a folder, as a user types it there."""
    env = clean_environment() | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True)


def redirected(folder: str) -> tuple[str, ...]:
    """Options of torchrun that write the output of each rank to a file of its own."""
    return ("--redirects", "1", "--log-dir", folder)


def printed(folder: Path) -> dict[str, str]:
    """The output of each rank, by its folder."""
    return {path.parent.name: path.read_text() for path in sorted(folder.rglob("stdout.log"))}


@pytest.mark.slow
@pytest.mark.sampled
def test_the_answer_on_the_page_is_what_is_answered(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text((STRANGERS / "unwrapped_forward.py").read_text())
    alone = typed(tmp_path, *RANKS, *redirected("alone"), "train.py")
    command = (sys.executable, "-m", "course", "right", "--json", "right.json", "--")
    done = typed(tmp_path, *command, *RANKS, *redirected("watched"), "train.py")
    assert done.returncode == 3, done.stderr
    assert alone.returncode == 0, alone.stderr
    assert printed(tmp_path / "watched") == printed(tmp_path / "alone") != {}
    shown = re.search(r"^\$ python -m course right .*?\n(.*?)^```$", PAGE, re.M | re.S)[1]
    whole, *rows = [part.strip("\n") for part in shown.split("  ...\n")]
    assert whole in done.stderr and all(row in done.stderr for row in rows)
    assert done.stderr.count("Not averaged:") == 1  # nothing new was seen at the end

    report = json.loads((tmp_path / "right.json").read_text())
    assert (report["tool"], report["ranks"], report["steps"]) == ("right", 2, 20)
    first = report["findings"][0]
    assert (first["what"], first["rank"], first["step"]) == ("not averaged", None, 1)
    assert set(first) == {"what", "rank", "step", "where", "says", "cure", "lab", "note"}
    assert [row["row"] for row in report["rows"]] == list(table.ORDER)
    assert {row["state"] for row in report["rows"]} == {"equal", "differs", "not seen"}


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("tool", ["right", "why"])
def test_a_failure_before_enough_was_seen_keeps_its_exit_code(tmp_path: Path, tool: str) -> None:
    (tmp_path / "fails.py").write_text(FAILS)
    done = typed(tmp_path, sys.executable, "-m", "course", tool, "--stop", "--", *RANKS, "fails.py")
    assert done.returncode == 1, done.stderr
    assert "failed first at fails.py:8: AssertionError: a bad batch" in " ".join(
        done.stderr.split()
    )


def test_its_help_lists_what_it_can_name(tmp_path: Path) -> None:
    done = typed(tmp_path, sys.executable, "-m", "course", "right", "--help")
    assert [cause for cause in causes.ALL if cause.name not in done.stdout] == []
