"""A course in a repository, a clone of it, and a stand-in for the checks of a class."""

import fcntl
import os
from pathlib import Path

import pytest
from support.clones import SOMEONE, commit, git
from support.grading import HALF
from support.lesson_samples import GOOD, NEXT, course
from support.web_pages import served, visitor

from course.commands import grade, update
from course.commands.grading import verdicts
from course.commands.web.build import build
from course.core import ROOT
from course.exercises import Report
from course.hardware import isolation


@pytest.fixture
def someone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every git call here a user name and no settings."""
    for name, value in SOMEONE.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def origin(tmp_path: Path, someone: None) -> Path:
    """The repository of a course with two labs."""
    root = course(tmp_path / "origin", adding=GOOD, next=NEXT)
    for name, text in {"README.md": "First\n", ".gitignore": "before-update/\n*.log\n"}.items():
        (root / name).write_text(text)
    git(root, "init", "--initial-branch", "main")
    commit(root)
    return root


@pytest.fixture
def clone(origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A learner's clone of it; the command works there."""
    git(tmp_path, "clone", "--quiet", str(origin), "clone")
    monkeypatch.setattr(update, "ROOT", tmp_path / "clone")
    return tmp_path / "clone"


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> dict:
    """A stand-in for the checks: `requests` lists what was judged, `verdict` makes the report."""
    judge = {
        "requests": [],
        "verdict": lambda name, **options: Report(name, ("test_adds", "test_ends"), HALF),
    }

    def check(name: str, src: str, **options: object) -> Report:
        judge["requests"].append((name, Path(src).parent.name))
        judge["options"] = options
        return judge["verdict"](name, src=src, **options)

    monkeypatch.setattr(verdicts, "check", check)
    monkeypatch.setattr(grade, "warm_up", lambda: None)
    monkeypatch.setattr(isolation, "missing", lambda: None)
    return judge


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site, built once for all workers."""
    pytest.importorskip("myst_nb")
    pytest.importorskip("furo")
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    out = folder / "site"
    with (folder / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            build(ROOT, out)
    return out


@pytest.fixture(scope="session")
def address(site):
    """The address at which the site is served, under a sub-path."""
    with served(site) as address:
        yield address


@pytest.fixture
def visit(tab, address):
    """Open a page; afterwards, nothing was missing, logged on the console, or fetched elsewhere."""
    with visitor(tab, address) as visit:
        yield visit
