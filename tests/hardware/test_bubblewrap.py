"""Whether code can be isolated on this box, and what is said where it cannot."""

import subprocess
from pathlib import Path

import pytest

from course.core import CourseError
from course.hardware import bubblewrap

DENIED = "bwrap: setting up uid map: Permission denied"


@pytest.fixture
def box(monkeypatch, tmp_path):
    """A box with all tools, on which bubblewrap fails with these words."""

    def make(said: str, apparmor: str | None = None) -> None:
        failed = subprocess.CompletedProcess([], 1, "", said + "\n")
        monkeypatch.setattr(bubblewrap.shutil, "which", lambda tool: f"/usr/bin/{tool}")
        monkeypatch.setattr(bubblewrap.subprocess, "run", lambda *args, **options: failed)
        setting = tmp_path / "apparmor"
        if apparmor is not None:
            setting.write_text(f"{apparmor}\n")
        monkeypatch.setattr(bubblewrap, "APPARMOR", setting)

    return make


@pytest.mark.parametrize(
    ("said", "apparmor", "fix"),
    [
        (DENIED, "1", "`sudo apt-get install apparmor-profiles`"),
        (DENIED, "0", "a container must allow user namespaces"),
        (DENIED, None, "a container must allow user namespaces"),
        ("bwrap: Unknown option --disable-userns", None, "0.8 or later is needed"),
    ],
)
def test_why_bubblewrap_does_not_work(box, said, apparmor, fix):
    box(said, apparmor)
    assert bubblewrap.missing().startswith(f"bubblewrap does not work here ({said}): ")
    assert fix in bubblewrap.missing()


def test_a_missing_tool_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda tool: None)
    assert bubblewrap.missing() == (
        "bwrap is missing: `sudo apt-get install bubblewrap` installs it"
    )
    with pytest.raises(CourseError, match="cannot be isolated here: bwrap is missing"):
        bubblewrap.require()


def test_another_system_is_refused(monkeypatch):
    monkeypatch.setattr(bubblewrap.sys, "platform", "darwin")
    assert bubblewrap.missing() == "it needs Linux"


@pytest.mark.parametrize("user", [0, 1000])
def test_root_and_others_show_the_same(monkeypatch, user):
    """Root's command is that of an ordinary user, with a change of user before it."""
    monkeypatch.setattr(bubblewrap.os, "getuid", lambda: user)
    words = bubblewrap.command(["true"], Path("/handed/in"), Path("/src"), [Path("/here/rank0")])
    *before, inside = " ".join(words).split("bwrap ")[1:]
    assert ["setpriv --reuid" in part for part in before] == [True] * (user == 0)
    assert "--ro-bind /handed/in /submitted" in inside
    assert "--bind /here/rank0 /tmp/letters/rank0" in inside
    assert inside.endswith("/src true")
