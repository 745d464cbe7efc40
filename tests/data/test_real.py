"""Lab 03b's script for your own job, run with real names as folders with the Hub's layout."""

import subprocess
import sys
from pathlib import Path

import pytest
from support import solutions

from course import models
from course.data import nli
from course.launch import connect, launch

LAB = "03b_overlap"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """``real.py`` in a folder."""
    solutions.write(LAB, tmp_path)
    return tmp_path / "real.py"


@pytest.mark.slow
@pytest.mark.rest
def test_it_trains_a_model_and_reads_data_from_folders(script, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    models.bert().save_pretrained(tmp_path / "model")
    nli.make_tokenizer().save_pretrained(tmp_path / "model")
    pairs = nli.load()
    pairs["train"] = pairs["train"].select(range(660))  # in batches of 32, 11 steps on two ranks
    pairs.save_to_disk(tmp_path / "data")
    connect.warm_up()
    torchrun = ["torchrun", "--standalone", "--nproc-per-node", "2", str(script)]
    run = launch([*torchrun, "--model", str(tmp_path / "model"), "--data", str(tmp_path / "data")])
    assert run.ok, run.lines
    assert [(row["rank"], row["step"], row["steps"]) for row in sorted(run.rows, key=place)] == [
        (0, 0, 11),
        (0, 10, 11),
        (1, 0, 11),
        (1, 10, 11),
    ]
    assert all(0 < row["loss"] < 3 for row in run.rows)


def place(row: dict) -> tuple[int, int]:
    return row["rank"], row["step"]


def test_without_torchrun_it_says_what_to_do(script):
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "Start this script with torchrun, as its first lines show."
    )
