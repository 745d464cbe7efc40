"""If the warm server cannot be started, ranks only start more slowly."""

import errno
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from course.core import CourseError
from course.launch import Sandbox, connect, forked, launch

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not forked.possible(), reason="ranks are forked on Linux"),
]


@pytest.fixture(autouse=True)
def nothing_warm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(connect.SOCKET, "")
    monkeypatch.setattr(connect, "_warm", None)


def test_a_temporary_folder_with_a_long_name(tmp_path, monkeypatch) -> None:
    """A socket's path may have 107 bytes, and the path of this folder has more."""
    long = tmp_path / ("a batch job's own folder " * 4) / "ä" / "and below"
    long.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    (tmp_path / "script.py").write_text("import sys; print('torch' in sys.modules)")
    connect.warm_up()
    folder = Path(connect._warm.path).parent
    try:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert launch(["python", "script.py"]).text(0) == "True"
    finally:
        connect._warm.end()
    assert not folder.exists() and list(long.iterdir()) == []


def test_no_process_for_it(tmp_path, monkeypatch, capsys) -> None:
    """A sentence reports it, and ranks are new processes."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    with monkeypatch.context() as machine:
        machine.setattr(tempfile, "tempdir", str(tmp_path))
        machine.setattr(subprocess, "Popen", refuse)
        connect.warm_up()
        with pytest.raises(CourseError, match=r"isolated .*: Resource temporarily"):
            Sandbox(tmp_path, []).connect()
    assert capsys.readouterr().err.endswith(
        "cannot be started: Resource temporarily unavailable.\n"
    )
    assert not connect.warm_ranks_promised() and list(tmp_path.iterdir()) == []
    (tmp_path / "script.py").write_text("print('ran')")
    assert launch(["python", "script.py"]).text(0) == "ran"
