"""A learner's folder with the scripts of lab 00."""

from pathlib import Path

import pytest
from support import solutions

from course.launch.connect import warm_up

LAB = "00_start_here"


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A learner's folder with the lab's scripts in src/, and ranks that start at once."""
    warm_up()
    folder = tmp_path_factory.mktemp("learner")
    (folder / "src").mkdir()
    solutions.write(LAB, folder / "src")
    return folder


@pytest.fixture
def in_learners_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the learner's folder the current one."""
    monkeypatch.chdir(folder)
