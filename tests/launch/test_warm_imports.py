"""Why ranks start cold: a library that the warm server cannot import, or a changed variable."""

import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from support.patience import PATIENCE_S, until

from course.checks.runner import on_ranks
from course.launch import Note, Run, connect, launch, warm_imports
from course.launch.child import Command
from course.launch.messages import StartRun
from course.launch.processes import Processes
from course.notebook import live

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="ranks are forked on Linux"),
]
PROBE = """
import sys
from course.launch.warm_imports import warmth
print(warmth.growing, "torch" in sys.modules, "accelerate" in sys.modules)
"""


def test_each_module_is_tried_by_itself(monkeypatch) -> None:
    monkeypatch.setattr(warm_imports, "THEN", ("no_such_module", "course.core.words", "torch.gone"))
    monkeypatch.delitem(sys.modules, "course.core.words")
    warmth = warm_imports.Warmth(growing=True)
    warmth.import_rest()
    assert list(warmth.failed) == ["no_such_module", "torch.gone"] and not warmth.growing
    assert "course.core.words" in sys.modules
    assert "no_such_module (ModuleNotFoundError: No module named" in warmth.sentence()


def test_what_every_rank_has_is_not_worth_a_sentence() -> None:
    assert warm_imports.Warmth().sentence() == ""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable]:
    """Starts a warm server, to which this process then launches, and returns its process."""
    handles = []

    def start() -> psutil.Process:
        handles.append(connect.WarmHandle(env=os.environ))
        monkeypatch.setenv(connect.SOCKET, handles[0].path)
        return psutil.Process(handles[0]._process.pid)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(connect, "_warm", None)
    on_ranks.await_warm_ranks.cache_clear()
    yield start
    on_ranks.await_warm_ranks.cache_clear()
    for handle in handles:
        handle.end()


def probed(watch: Callable = lambda run, event: None) -> str:
    """A rank's report on the memory that it began with."""
    Path("probe.py").write_text(PROBE)
    return launch(["python", "probe.py"], watch=watch).text(0)


@pytest.mark.rest
def test_a_library_that_cannot_be_imported_is_named_once(server, tmp_path, monkeypatch) -> None:
    package = tmp_path / "broken" / "datasets"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('made for another arrow')")
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    server()
    until(lambda: probed() == "False True True", every=0.5)
    notes, shown = [], io.StringIO()
    show = live.Live(limit=PATIENCE_S, out=shown)
    monkeypatch.setattr(live, "SHOWN_NOTES", set())

    def watch(run: Run, event: object) -> None:
        notes.extend([event] if isinstance(event, Note) else [])
        show(run, event)

    for _ in range(2):
        probed(watch)
    (text,) = {note.text for note in notes}
    assert "datasets (RuntimeError: made for another arrow)" in text and len(notes) == 2
    assert shown.getvalue().count(text) == 1


def test_checks_do_not_wait_for_a_generation_that_has_died(server, monkeypatch) -> None:
    process = server()
    until(lambda: process.children())
    (successor,) = process.children()
    successor.kill()
    until(lambda: probed() == "False True False", every=0.5)
    monkeypatch.setattr(on_ranks.time, "sleep", lambda seconds: pytest.fail("it waits"))
    on_ranks.await_warm_ranks()


def test_a_module_with_the_name_of_a_library_is_worth_one_sentence(server, tmp_path) -> None:
    """This holds too if the launched script runs another one from another folder."""
    server()
    until(lambda: "True" in probed().split()[1:], every=0.5)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "queue.py").touch()
    notes = []

    def watch(run: Run, event: object) -> None:
        notes.extend([event] if isinstance(event, Note) else [])

    command = ["torchrun", "--standalone", "--nproc-per-node", "2", "probe.py"]
    run = launch(command, watch, module_folder=tmp_path / "there")
    assert run.ok and run.text(0) == run.text(1) == "False False False"
    (note,) = (note for note in notes if "in memory" in note.text)
    assert note.text.startswith("there/queue.py has the name of") and note.once
    assert launch(command).text(0) != run.text(0)


def test_a_run_that_cannot_fork_says_once_which_variables_are_to_blame(tmp_path: Path) -> None:
    notes: list[Note] = []
    request = StartRun("torchrun", [], {}, str(tmp_path), 0o22, 0.0, str(tmp_path))
    processes = Processes(request, {"HF_HOME": "/a"}, None, notes.append, None)
    script = (sys.executable, "-u", str(tmp_path / "train.py"))
    assert processes._can_fork(Command(script, {"HF_HOME": "/a"}, 1, 2))
    assert notes == []
    for _ in range(2):
        assert not processes._can_fork(Command(script, {"HF_HOME": "/b", "TZ": "UTC"}, 1, 2))
    (note,) = notes
    assert note.once and note.text.startswith("HF_HOME, TZ are not as when the course was loaded.")
    assert not processes._can_fork(Command((sys.executable, "-u", "-m", "train"), {}, 1, 2))
    assert len(notes) == 1  # a module is never forked, as its user may know
