"""The machine refuses: a port is taken, a folder is read-only, or a disk is full."""

import contextlib
import socket
import subprocess
from pathlib import Path

import pytest
import torch
from support.disks import mounted
from support.launching import Client, once, torchrun
from support.patience import until
from support.scripts import JOINING

from course.core import RUNS

pytestmark = [pytest.mark.slow, pytest.mark.rest]


@once
@pytest.mark.parametrize(
    "command",
    [
        ("torchrun", "--standalone", "--nproc-per-node", "2"),
        ("torchrun", "--nproc-per-node", "2"),
        ("accelerate", "launch", "--cpu", "--num_processes", "2"),
    ],
    ids=["standalone", "plain", "accelerate"],
)
def test_usual_port_is_taken(client: Client, command: tuple[str, ...]) -> None:
    client.script("joining", JOINING)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        until(lambda: _listens(taken, 29500))  # another test may have it for a while
        answer = client.run(*command, "joining.py")
    if command[0] == "torchrun" and "--standalone" not in command and torch.__version__ < (2, 13):
        assert not answer["ok"] and "EADDRINUSE" in str(answer)  # later ones take another port
        return
    assert answer["ok"], answer
    assert answer["stdout"][0] == answer["stdout"][1] == "2"


def _listens(listener: socket.socket, port: int) -> bool:
    """Make the socket listen at the port; return whether that worked."""
    with contextlib.suppress(OSError):
        listener.bind(("", port))
        listener.listen()
        return True
    return False


@once
def test_folder_is_read_only(client: Client, tmp_path: Path) -> None:
    with mounted(tmp_path / "labs", "size=1m") as labs:
        (labs / "joining.py").write_text("print('ran')")
        subprocess.run(["mount", "-o", "remount,ro", str(labs)], check=True)
        answer = client.run(*torchrun(), "joining.py", cwd=labs)
    assert answer["ok"] and answer["stdout"][1] == "ran"
    assert Path(answer["log_dir"]).is_relative_to(client.temporary)
    assert Path(answer["log_dir"], "rank1.log").read_text() == "ran\n"


@once
def test_log_folder_cannot_be_made(client: Client, tmp_path: Path) -> None:
    """Not even by root: a file has its name."""
    (tmp_path / RUNS).write_text("a file")
    (tmp_path / "script.py").write_text("print('ran')")
    answer = client.run(*torchrun(), "script.py", cwd=tmp_path)
    assert answer["ok"] and answer["stdout"][0] == "ran"


@once
def test_full_disk_before_the_run(client: Client, tmp_path: Path) -> None:
    with mounted(tmp_path / "labs", "size=64k,nr_inodes=40") as labs:
        script = "from course import log\nlog(step=1, loss=0.5)\nprint('ran')"
        (labs / "script.py").write_text(script)
        with (
            (labs / "ballast").open("wb", buffering=0) as file,
            pytest.raises(OSError, match="No space"),
        ):
            while True:
                file.write(b"0" * 4096)
        answer = client.run(*torchrun(), "script.py", cwd=labs)
    assert answer["ok"]
    assert "ran" in answer["stdout"][0]
    assert answer["rows"] or "loss 0.5" in answer["stdout"][0]


@once
def test_disk_fills_up_during_the_run(client: Client, tmp_path: Path) -> None:
    with mounted(tmp_path / "labs", "size=512k") as labs:
        (labs / "script.py").write_text(
            "for i in range(20_000): print('a line of some length', i)\nprint('ran')"
        )
        answer = client.run(*torchrun(), "script.py", cwd=labs)
    assert answer["ok"]
    assert answer["stdout"][0].endswith("ran") and answer["stdout"][1].endswith("ran")
    assert answer["shown"].count("stops here: No space left on device; the run goes on.") == 1


@once
def test_no_space_for_a_log_folder_anywhere(client: Client, tmp_path: Path) -> None:
    """Neither beside the notebook nor among the temporary files: nothing is started."""
    (tmp_path / RUNS).write_text("a file")
    client.script("script", "print('ran')")
    hidden = client.temporary.rename(client.folder / "hidden")
    client.temporary.write_text("a file")
    try:
        answer = client.run("python", str(client.folder / "script.py"), cwd=tmp_path)
    finally:
        client.temporary.unlink()
        hidden.rename(client.temporary)
    assert answer["refused"].startswith("No folder for the run's logs can be made")
    assert "\n" not in answer["refused"]
