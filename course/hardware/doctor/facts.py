"""Read once everything that `doctor` judges about the machine.

A process of its own imports torch, so that the caller stays free of torch and of CUDA, and a GPU
that hangs or crashes does no harm. The rest is read meanwhile.
"""

import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course.core import ROOT, RUNS, installed
from course.hardware import isolation
from course.hardware.doctor.requirements import PACKAGES
from course.hardware.machine import Machine

TORCH_LIMIT_S = 90  # to import torch, from a slow network disk at worst, and try each GPU
LOOKUP_LIMIT_S = 2  # to look up the host's own name; torch would wait as long at every start
SCRIPTS, LOGS = ROOT / "labs" / "src", ROOT / "labs" / RUNS
# -P: not with this folder as the first place of imports
ASK_TORCH = [sys.executable, "-P", str(Path(__file__).with_name("ask_torch.py"))]


@dataclass(frozen=True)
class Torch:
    """What torch itself reports: its backends, how many GPUs it sees, and what it finds wrong.

    `faults` has, by number, the GPUs on which it cannot compute. `late` says that it had reported
    nothing when the time was over, which alone is not a fault.
    """

    gloo: bool = False
    nccl: str | None = None
    gpus: int = 0
    faults: Mapping[int, str] = field(default_factory=dict)
    import_error: str | None = None
    late: bool = False


@dataclass(frozen=True)
class Facts:
    """The facts that the checks judge; sizes in bytes, a `*_error` None if all is well.

    `load` is how many processes needed a core in the last minute, None if it is not known.
    """

    machine: Machine
    load: float | None
    torch: Torch
    system: str
    python: tuple[int, int]
    packages: Mapping[str, str | None]
    shm: tuple[int, int] | None
    open_files: int | None
    loopback_error: str | None
    host: str
    host_error: str | None
    folders: Mapping[Path, str | None]
    disk_free: int
    isolation_error: str | None
    environ: Mapping[str, str]


def examine() -> Facts:
    """Read the facts of this machine."""
    process = subprocess.Popen(ASK_TORCH, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        host = socket.gethostname()
        facts = {
            "machine": Machine.here(),
            "load": load(),
            "system": platform.system(),
            "python": sys.version_info[:2],
            "packages": {name: installed.version(name) for name in (*PACKAGES, installed.PACKAGE)},
            "shm": space(Path("/dev/shm")),
            "open_files": open_files(),
            "loopback_error": loopback_error(),
            "host": host,
            "host_error": host_error(host),
            "folders": {folder: write_error(folder) for folder in (SCRIPTS, LOGS)},
            "disk_free": shutil.disk_usage(nearest_existing(SCRIPTS)).free,
            "isolation_error": isolation.missing(),
            "environ": dict(os.environ),
        }
        return Facts(torch=torch_says(process), **facts)
    finally:
        process.kill()
        process.communicate()


def torch_says(process: subprocess.Popen[str]) -> Torch:
    """What the process that imports torch found out, perhaps before it hung or crashed."""
    late = False
    try:
        out, err = process.communicate(timeout=TORCH_LIMIT_S)
    except subprocess.TimeoutExpired:
        late = True
        process.kill()
        out, err = process.communicate()
    lines = [line for line in out.splitlines() if line.startswith("{")]
    if lines:
        says = json.loads(lines[-1])
        faults = {int(gpu): fault for gpu, fault in says.pop("faults", {}).items()}
        return Torch(faults=faults, **says)
    if late:
        return Torch(import_error=f"it took more than {TORCH_LIMIT_S} s", late=True)
    last = err.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
    return Torch(import_error=last[0])


def load() -> float | None:
    """How many processes ran or waited for a core, on average over the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def space(mount: Path) -> tuple[int, int] | None:
    """Total and free bytes of a file system, None if there is none."""
    if not mount.is_dir():
        return None
    usage = shutil.disk_usage(mount)
    return usage.total, usage.free


def open_files() -> int | None:
    """How many files a process may hold open (`ulimit -n`), None if there is no such limit."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def loopback_error() -> str | None:
    """Why this machine cannot reach itself over a port of 'localhost', None if it can."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = ("localhost", server.getsockname()[1])
            socket.create_connection(address, timeout=LOOKUP_LIMIT_S).close()
    except OSError as error:
        return str(error)
    return None


def host_error(host: str) -> str | None:
    """What is wrong with the address of this host's own name, None if nothing is."""
    try:
        address = call_with_timeout(LOOKUP_LIMIT_S, lambda: socket.gethostbyname(host))
    except TimeoutError:
        return f"takes more than {LOOKUP_LIMIT_S} s to look up"
    except OSError:
        return "leads to no address"
    try:
        socket.create_server((address, 0)).close()
    except OSError:
        return f"leads to {address}, which is not an address of this machine"
    return None


def call_with_timeout(seconds: float, function: Callable[[], Any]) -> Any:
    """The result of `function()`, or the `OSError` that it raises.

    Raises `TimeoutError` if it takes longer than `seconds`; the call then goes on in its thread.
    """
    result: list[Any] = []
    failure: list[OSError] = []

    def call() -> None:
        try:
            result.append(function())
        except OSError as error:
            failure.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    if failure:
        raise failure[0]
    if not result:
        raise TimeoutError
    return result[0]


def nearest_existing(folder: Path) -> Path:
    """The folder itself, or the nearest one above it that exists."""
    return next(path for path in (folder, *folder.parents) if path.is_dir())


def write_error(folder: Path) -> str | None:
    """Why `folder`, or the place where it will be, takes no file; None if it does."""
    try:
        with tempfile.TemporaryFile(dir=nearest_existing(folder)) as file:
            file.write(b"x")
            file.flush()
    except OSError as error:
        return error.strerror
    return None
