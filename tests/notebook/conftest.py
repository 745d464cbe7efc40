"""An IPython shell with the course loaded, its folder, and a JupyterLab for a browser."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from IPython.core.interactiveshell import InteractiveShell
from support.cells import Cell, RunCell
from support.jupyterlab import SERVE, TERMINAL, wait_for
from support.launching import clean_environment, kernel_environment
from support.patience import PATIENCE_S
from support.ports import free_port
from traitlets.config import Config

from course.core import ROOT
from course.launch.process_tree import end_with_parent


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
    shell.run_line_magic("load_ext", "course")
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, in an environment without the variables of a test runner."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ.keys() - clean_environment().keys() - {"COURSE_WARM"}:
        monkeypatch.delenv(name)
    (tmp_path / "src").mkdir()
    return tmp_path


@pytest.fixture
def cell(shell: InteractiveShell, labs: Path, capsys: pytest.CaptureFixture) -> RunCell:
    """A function that runs the source of a cell in `labs`."""

    def run(source: str) -> Cell:
        result = shell.run_cell(source)
        out, err = capsys.readouterr()
        assert err == ""
        return Cell(result, out)

    return run


@pytest.fixture(scope="module")
def course_folder(tmp_path_factory):
    """A copy of the notebooks, so that running them leaves the repository as it was."""
    folder = tmp_path_factory.mktemp("browser")
    for name in ("labs", "solutions", "images"):
        shutil.copytree(
            ROOT / name,
            folder / name,
            ignore=shutil.ignore_patterns("kept", "*runs", "traces", "*.py"),
        )
    return folder


@pytest.fixture(scope="module")
def server(course_folder):
    """The URL of a JupyterLab that serves the copy, with its token."""
    port = free_port()
    options = ["--no-browser", f"--port={port}", "--IdentityProvider.token=learner"]
    with (course_folder / TERMINAL).open("w") as terminal:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE, *options],
            cwd=course_folder,
            env=kernel_environment(),
            stdout=terminal,
            stderr=subprocess.STDOUT,
            preexec_fn=end_with_parent,  # xdist kills a worker that is still busy after ^C
        )
    try:
        url = f"http://127.0.0.1:{port}/"
        wait_for(url)
        yield url
    finally:
        members = [*psutil.Process(process.pid).children(recursive=True), process]
        process.terminate()  # it ends its kernels
        left = psutil.wait_procs(members, timeout=PATIENCE_S)[1]
        for member in left:
            member.kill()
        process.wait()
    assert not left, f"of JupyterLab's processes these outlive it: {left}"


@pytest.fixture
def page(tab):
    """An empty page as wide as a laptop's screen."""
    tab.goto("about:blank")
    tab.set_viewport_size({"width": 1280, "height": 900})
    return tab
