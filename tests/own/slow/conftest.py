"""Ranks that start at once, and where the planted scripts lie."""

from pathlib import Path

import pytest

from course.checks.runner.on_ranks import await_warm_ranks
from course.launch import warm_up
from course.own import Answer, watch_ranks

PLANTS = Path(__file__).with_name("plants")


@pytest.fixture(scope="session")
def warm_ranks() -> None:
    """A warm server that has imported all."""
    warm_up()
    await_warm_ranks()


@pytest.fixture
def answer(warm_ranks: None, tmp_path: Path) -> object:
    """What `why` answers of a planted script."""

    def ask(make: str, cause: str, count: int = 2) -> Answer:
        words = ["torchrun", "--standalone", "--nproc-per-node", str(count)]
        run, told = watch_ranks([*words, str(PLANTS / f"{make}.py"), cause, str(tmp_path)])
        assert run.ok, run.text(run.first_failed)
        return Answer(told)

    return ask
