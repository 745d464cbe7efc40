"""Whether code can be isolated on this machine, and the message if it cannot."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from support.installed import install_wheel

from course.core import ROOT, CourseError
from course.hardware import isolation

# As text: only a process that comes to such a test asks, which takes seconds.
possible = pytest.mark.skipif("isolation.missing()", reason="no isolation: the doctor says why")

DENIED = "bwrap: setting up uid map: Permission denied"


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine with all tools, on which bubblewrap fails with these words."""

    def make(stderr: str, apparmor: str | None = None) -> None:
        failed = subprocess.CompletedProcess([], 1, "", stderr + "\n")
        monkeypatch.setattr(isolation.shutil, "which", lambda tool: f"/usr/bin/{tool}")
        monkeypatch.setattr(isolation.subprocess, "run", lambda *args, **options: failed)
        setting = tmp_path / "apparmor"
        if apparmor is not None:
            setting.write_text(f"{apparmor}\n")
        monkeypatch.setattr(isolation, "APPARMOR", setting)

    return make


@pytest.mark.parametrize(
    ("stderr", "apparmor", "fix"),
    [
        (DENIED, "1", "`sudo apt-get install apparmor-profiles`"),
        (DENIED, "0", "a container must allow user namespaces"),
        (DENIED, None, "a container must allow user namespaces"),
        ("bwrap: Unknown option --disable-userns", None, "0.8 or later is needed"),
    ],
)
def test_why_bubblewrap_does_not_work(machine, stderr, apparmor, fix):
    machine(stderr, apparmor)
    assert isolation.missing().startswith(f"bubblewrap does not work here ({stderr}): ")
    assert fix in isolation.missing()


def test_a_missing_tool_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr(isolation.shutil, "which", lambda tool: None)
    assert isolation.missing() == (
        "bwrap is missing: `sudo apt-get install bubblewrap` installs it"
    )
    with pytest.raises(CourseError, match="cannot be isolated here: bwrap is missing"):
        isolation.require()


@possible
def test_what_python_cannot_import_there_is_missing(monkeypatch):
    """Otherwise no learner's code would run, and all of them would get no points."""
    monkeypatch.setattr(isolation, "IMPORTS", "import what_only_pythonpath_brings")
    isolation._not_imported.cache_clear()
    try:
        why = isolation.missing()
    finally:
        isolation._not_imported.cache_clear()
    assert "No module named 'what_only_pythonpath_brings'" in why
    assert "PYTHONPATH" in why


def test_another_system_is_refused(monkeypatch):
    monkeypatch.setattr(isolation.sys, "platform", "darwin")
    assert isolation.missing() == "it needs Linux"


@pytest.mark.parametrize("user", [0, 1000])
def test_root_and_others_show_the_same(monkeypatch, user):
    """Root's command is an ordinary user's command, with a change of user before it."""
    monkeypatch.setattr(isolation.os, "getuid", lambda: user)
    command = isolation.command(["true"], Path("/handed/in"), Path("/src"), [Path("/here/rank0")])
    *before, inside = " ".join(command).split("bwrap ")[1:]
    assert ["setpriv --reuid" in part for part in before] == [True] * (user == 0)
    assert "--ro-bind /handed/in /submitted" in inside
    assert "--bind /here/rank0 /tmp/results/rank0" in inside
    assert inside.endswith("/src true")


def test_what_isolated_code_can_write_outside_is_limited_too():
    """The result files of eight ranks, the most in a check, take no more than its other disks."""
    assert 8 * isolation.LARGEST_FILE <= isolation.DISK


# Inside: the files that the solutions come from, wherever they can be seen.
LOOK = """
import os
for folder, below, files in os.walk("/"):
    below[:] = [name for name in below if os.path.join(folder, name) not in ("/proc", "/sys")]
    for name in files:
        if name.endswith(("_all_reduce.ipynb", "_all_reduce.md", "2_ring.md")):
            print(os.path.join(folder, name))
"""
OUTSIDE = """
import subprocess, sys
from pathlib import Path
from course.core import ROOT
from course.hardware import isolation
handed_in, src, look = sys.argv[1:]
command = isolation.command([sys.executable, "-c", look], Path(handed_in), Path(src))
ended = subprocess.run(command, env=isolation.ENVIRONMENT)
print(ROOT, ended.returncode)
"""


@possible
@pytest.mark.slow
@pytest.mark.parametrize("way", ["clone", pytest.param("wheel", marks=pytest.mark.rest)])
def test_the_solutions_are_nowhere(way, tmp_path):
    """Neither in a clone, which may lie in a folder that is seen, nor where a wheel put them."""
    python, src = sys.executable, ROOT / "labs" / "src"
    if way == "wheel":
        python, src = install_wheel(tmp_path), tmp_path / "src"
        (packages,) = tmp_path.glob("venv/lib/*/site-packages")
        (packages / "ours.pth").write_text(f"{Path(psutil.__file__).parents[1]}\n")
        brought = [path.name for path in tmp_path.glob("venv/share/*/solutions/*.ipynb")]
        assert any(name.endswith("_all_reduce.ipynb") for name in brought)
    (tmp_path / "handed_in").mkdir()
    command = [python, "-c", OUTSIDE, str(tmp_path / "handed_in"), str(src), LOOK]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    *lines, last = done.stdout.splitlines()
    root, code = last.split()
    assert (code, done.stderr) == ("0", "")
    assert (Path(root) == ROOT) == (way == "clone")
    assert lines == []


def test_a_clone_in_a_folder_that_is_seen_is_empty_but_for_the_course(monkeypatch):
    """For example in `/usr`: its notebooks, its tests and its history are not visible."""
    monkeypatch.setattr(isolation, "SYSTEM", (*isolation.SYSTEM, str(ROOT.parent)))
    view = isolation._view()
    order = [view.index(str(path)) for path in (ROOT.parent, ROOT, ROOT / "course")]
    assert order == sorted(order) and view[order[1] - 1] == "--tmpfs"
