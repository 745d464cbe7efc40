"""Attacks that a hostile script may try: functions that return how far they got.

The tests copy this file into a learner's folder, so it imports nothing from the tests.
"""

import base64
import contextlib
import ctypes
import io
import mmap
import os
import shutil
import signal
import socket
import sys
import time
import zipfile
from pathlib import Path

import torch

CHUNK = 1 << 20


def read(path: str) -> bool:
    """Read one of the teacher's files."""
    with contextlib.suppress(OSError):
        return "secret" in Path(path).read_text()
    return False


def find_in_environments(name: str) -> bool:
    """Look for one of the teacher's variables, here and in every visible process."""
    visible = name in os.environ
    for process in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            visible = visible or name.encode() in process.read_bytes()
    return visible


def connect(port: int) -> bool:
    """Reach a server on this machine."""
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
        return True
    return False


def change(path: str) -> bool:
    """Overwrite a file."""
    with contextlib.suppress(OSError):
        Path(path).write_text("changed")
        return True
    return False


def delete(folder: str) -> bool:
    """Delete a folder with everything in it."""
    shutil.rmtree(folder, ignore_errors=True)
    return not Path(folder).exists()


def write_in_own_folder() -> bool:
    """Do what a script may do: write next to itself."""
    return change(str(Path(__file__).with_name("notes.txt")))


def breed() -> int:
    """Start processes until the system refuses; return how many were started."""
    children = []
    try:
        while len(children) < 5_000:
            pid = os.fork()
            if pid == 0:
                time.sleep(60)
                os._exit(0)
            children.append(pid)
    except OSError:
        pass
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return len(children)


def eat() -> int:
    """Map memory until the system refuses; return how many GiB were mapped."""
    taken, private = [], mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    with contextlib.suppress(OSError):
        while len(taken) < 64:
            taken.append(mmap.mmap(-1, 1 << 30, flags=private))  # counts even untouched
    return len(taken)


def fill(folders: list[str]) -> int:
    """Fill the folders with files until the system refuses; return how many MiB were written."""
    written = 0
    for folder in folders:
        for number in range(4_000):
            try:
                with open(Path(folder, f"fill{number}"), "wb") as file:
                    file.write(bytes(CHUNK))
            except OSError:
                break
            written += 1
    for folder in folders:
        for path in Path(folder).glob("fill*"):
            path.unlink()
    return written


def kill_everybody(outside: str) -> None:
    """Kill every reachable process, unless this is the test's own PID namespace, `outside`."""
    if os.readlink("/proc/self/ns/pid") != outside:
        os.kill(-1, signal.SIGKILL)
    time.sleep(600)


def stop_supervisor() -> None:
    """Stop the process that would end this one, and go on."""
    os.kill(os.getppid(), signal.SIGSTOP)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def outlive() -> bool:
    """Leave an orphaned process behind that ignores SIGTERM and SIGINT."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            time.sleep(600)
        os._exit(0)
    os.wait()
    return True


def leave() -> None:
    """Exit with code 0, by `sys.exit()`."""
    sys.exit(0)


def vanish() -> None:
    """Exit at once with code 0, without any cleanup."""
    os._exit(0)


def become_another() -> None:
    """Replace this process with another program."""
    os.execv(sys.executable, [sys.executable, "-c", ""])


def write_the_answer() -> None:
    """Write the answer where the ranks' script would write it, and exit."""
    torch.save(True, Path(sys.argv[1], f"rank{os.environ['RANK']}"))
    os._exit(0)


def replace_save() -> bool:
    """Make every `torch.save` write True, whatever it is given."""
    real = torch.save
    torch.save = torch.serialization.save = lambda thing, *args: real(True, *args)
    return False


def read_key(description: str) -> bool:
    """Read one of the teacher's keys from the session keyring (system call numbers of x86_64)."""
    call, session, search, read = ctypes.CDLL(None).syscall, -3, 10, 11
    content = ctypes.create_string_buffer(64)
    key = call(250, search, session, b"user", description.encode(), 0)
    return key > 0 and call(250, read, key, content, 64) > 0


def call_the_kernel(numbers: dict[str, int]) -> list[str]:
    """The system calls that are not refused with EPERM; with these arguments none can succeed."""
    libc = ctypes.CDLL(None, use_errno=True)
    answered = []
    for name, number in numbers.items():
        if libc.syscall(number, -1, -1, -1, -1, -1) != -1 or ctypes.get_errno() != 1:  # EPERM
            answered.append(name)
    return answered


def reach_into(pid: int) -> bool:
    """Open the memory of another process, to write there."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/mem", "r+b"):
        return True
    return False


def reach_into_the_parent() -> bool:
    """Open the memory of the supervisor."""
    return reach_into(os.getppid())


def find_in_command_lines(text: str) -> bool:
    """Look for one of the teacher's paths in the command line of every visible process."""
    visible = False
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            visible = visible or text.encode() in process.read_bytes()
    return visible


def take_memory_of_nobody() -> list[str]:
    """The ways that succeed in getting memory that is charged to no process."""
    ways = {
        "memfd": lambda: os.memfd_create("mine"),
        "shared": lambda: mmap.mmap(-1, CHUNK),
        "zero": lambda: mmap.mmap(os.open("/dev/zero", os.O_RDWR), CHUNK),
    }
    blocks = []
    for name, way in ways.items():
        with contextlib.suppress(OSError):
            way()
            blocks.append(name)
    return blocks


def eat_together(processes: int, mib: int) -> None:
    """Take memory in several processes, each of which stays below its own limit."""
    for _ in range(processes):
        if os.fork() == 0:
            taken = []
            while len(taken) < mib:
                taken.append(b"x" * CHUNK)
            time.sleep(600)
    time.sleep(600)


def swell(gib: int) -> torch.Tensor:
    """A tensor that is small here and large in any computation."""
    return torch.zeros(1).expand(gib << 28)


def double(times: int) -> list:
    """A list that is small here and large once it is serialized."""
    thing = []
    for _ in range(times):
        thing = [thing, thing]
    return thing


def hand_over(kind: str, mib: int) -> None:
    """Write an answer that grows when it is read, with the call's token, and exit."""
    frame = sys._getframe()
    while "token" not in frame.f_locals:
        frame = frame.f_back
    size = mib << 20
    match kind:
        case "deflated":
            file = io.BytesIO()
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("archive/data/0", bytes(size))
            text = file.getvalue()
        case "lists":
            text = b'{"list": [' + b"[]," * (size // 3) + b"[]]}"
        case "deep":
            text = b"[" * size
        case "digits":
            text = b"9" * size
        case "expanded":
            number = base64.b64encode(bytes(8))
            text = b'{"tensor": ["torch.float64", [%d], "%s"]}' % (size, number)
        case _:
            text = b'{"dtype": "load"}'
    Path(sys.argv[1], f"rank{os.environ['RANK']}").write_bytes(
        frame.f_locals["token"].encode() + text
    )
    os._exit(0)
