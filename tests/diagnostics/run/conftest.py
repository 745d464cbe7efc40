"""Planted scripts on warm ranks, and the commands as a terminal runs them."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.launching import clean_environment

from course.diagnostics import RunEnding, WatchedRun
from course.launch import Run

PLANTS = Path(__file__).with_name("plants")
PATIENCE_S = 4.0  # the patience with a run that will never go on

Judge = Callable[..., tuple[Run, RunEnding]]
Typed = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def judge(warm_ranks: None) -> Judge:
    """Run a planted script; return the run, and how it ended."""

    def ask(make: str, fault: str, count: int = 2, **how: float) -> tuple[Run, RunEnding]:
        ranks = ["torchrun", "--standalone", "--nproc-per-node", str(count)]
        with WatchedRun(patience=how.get("patience", PATIENCE_S)) as watched_run:
            run = watched_run.run(
                [*ranks, str(PLANTS / f"{make}.py"), fault], limit=how.get("limit")
            )
            return run, watched_run.ending(run)

    return ask


@pytest.fixture
def typed(tmp_path: Path) -> Typed:
    """Run ``python -m course ...`` in a folder of its own."""

    def run(*words: str, **env: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "course", *words]
        env = clean_environment() | {"OMP_NUM_THREADS": "1"} | env
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)

    return run
