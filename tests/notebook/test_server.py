"""A Jupyter server that lacks anywidget: a sentence says so, and explorables become pictures."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from IPython.core.formatters import DisplayFormatter
from support.patience import until

from course import explore
from course.notebook import server

pytestmark = pytest.mark.slow

SLEEP = ["-c", "import time; time.sleep(600)"]
WIDGET = "application/vnd.jupyter.widget-view+json"
MANAGER = "@jupyter-widgets/jupyterlab-manager"
Start = Callable[..., subprocess.Popen]


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment with JupyterLab only; the kernel's environment has all that a page needs."""
    prefix = tmp_path / "server"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin" / "python").symlink_to(sys.executable)
    (prefix / "share" / "jupyter" / "lab").mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "kernel"))
    install(tmp_path / "kernel" / "share" / "jupyter", "anywidget", MANAGER)
    folders = [str(tmp_path / name / "share" / "jupyter") for name in ("home", "kernel")]
    monkeypatch.setattr(server.paths, "jupyter_path", lambda: folders)
    return prefix


def install(folder: Path, *names: str) -> None:
    for name in names:
        (folder / "labextensions" / name).mkdir(parents=True)


@pytest.fixture
def start(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """A function that starts the process that becomes the parent of this kernel."""
    started = []

    def start(*command: str, **settings: object) -> subprocess.Popen:
        started.append(subprocess.Popen(command, **settings))
        until(psutil.Process(started[-1].pid).cmdline)  # which is empty for a moment
        monkeypatch.setenv("JPY_SESSION_NAME", "labs/start.ipynb")
        monkeypatch.setenv("JPY_PARENT_PID", str(started[-1].pid))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def shell() -> SimpleNamespace:
    """The parts of a shell that `inspect` needs."""
    return SimpleNamespace(display_formatter=DisplayFormatter())


def shown(shell: SimpleNamespace) -> set[str]:
    """The forms in which an explorable is sent to the page."""
    return set(shell.display_formatter.format(explore.buckets())[0])


@pytest.mark.parametrize("typed", ["{0}/bin/python", "bin/python", "python"])
def test_the_servers_own_python_is_found_however_it_was_typed(prefix, start, typed):
    start(typed.format(prefix), *SLEEP, cwd=prefix, env={"PATH": f"{prefix}/bin"})
    assert server.incomplete_server() == server.Server(
        prefix / "bin" / "python", ("ipywidgets", "anywidget")
    )


@pytest.mark.parametrize("where", ["server", "home"])
def test_what_is_installed_for_the_server_or_for_the_user_is_not_lacking(prefix, start, where):
    start(str(prefix / "bin" / "python"), *SLEEP)
    folder = prefix.with_name(where) / "share" / "jupyter"
    install(folder, MANAGER)
    assert server.incomplete_server().lacks == ("anywidget",)
    install(folder, "anywidget")
    assert server.incomplete_server() is None


def test_a_sentence_says_what_to_install_and_pictures_stand_in_until_it_is_there(
    prefix, start, shell, capsys
):
    python = prefix / "bin" / "python"
    start(str(python), *SLEEP)
    server.inspect(shell)
    output = capsys.readouterr().out
    assert output.count("\n") == 1 and f"`{python} -m pip install ipywidgets anywidget`" in output
    for _ in range(2):  # each explorable has a class of its own
        assert shown(shell) == {"image/svg+xml", "text/plain"}
    install(prefix / "share" / "jupyter", MANAGER, "anywidget")
    assert WIDGET in shown(shell)


def test_a_complete_server_is_not_mentioned(prefix, start, shell, capsys):
    start(str(prefix / "bin" / "python"), *SLEEP)
    install(prefix / "share" / "jupyter", MANAGER, "anywidget")
    server.inspect(shell)
    assert capsys.readouterr().out == ""
    assert WIDGET in shown(shell)


def test_nothing_is_said_where_nobody_can_tell(prefix, start, monkeypatch):
    python = str(prefix / "bin" / "python")
    ended = start(python, *SLEEP)
    ended.kill()
    ended.wait()
    assert server.incomplete_server() is None
    start("sleep", "600")
    assert server.incomplete_server() is None
    start(python, *SLEEP)
    assert server.incomplete_server() is not None
    monkeypatch.delenv("JPY_SESSION_NAME")  # the parent is not a server
    assert server.incomplete_server() is None


def test_a_server_without_jupyterlab_has_no_page(prefix, start):
    (prefix / "share" / "jupyter" / "lab").rmdir()
    start(str(prefix / "bin" / "python"), *SLEEP)
    assert server.incomplete_server() is None
