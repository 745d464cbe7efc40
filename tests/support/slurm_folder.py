"""The folder of a practice cluster: whose it is, and which processes belong to that cluster.

A process is killed only if both its id and its creation time match, or if its environment or an
open file names the folder. An id alone may by now belong to another process.
"""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

import psutil

from course.launch import still_the_same

PREFIX = "course-slurm-"
OWNER = "owner"  # a file there, locked by the process whose cluster it is
RECORD = ".created"  # next to a daemon's pid file: its process id, and when it was created


def record_daemon(folder: Path, pid: str) -> None:
    """Record the id and the creation time of the process that a daemon's pid file names."""
    number = int((folder / pid).read_text())
    created = psutil.Process(number).create_time()
    (folder / f"{pid}{RECORD}").write_text(json.dumps([number, created]))


def take_ownership(folder: Path) -> TextIO:
    """Lock a file in the folder for this process's life: its cluster is then not abandoned."""
    lock = (folder / "new").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    (folder / "new").rename(folder / OWNER)  # not before it is locked
    return lock


def remove_abandoned() -> None:
    """Stop the practice clusters of processes that were killed before they could do so."""
    for owner in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{OWNER}"):
        folder = owner.parent
        with contextlib.suppress(OSError):  # its owner is alive, or it belongs to another user
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            with owner.open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                end(folder)


def end(folder: Path) -> None:
    """End the jobs and the daemons of a cluster, and remove its folder."""
    if daemons(folder, "slurmctld.pid"):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            env = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}
            command = ["scancel", "--signal=KILL", "--user=root"]
            subprocess.run(command, env=env, timeout=10, capture_output=True)
    kill(daemons(folder, "*"))
    for spool in folder.glob("spool-*"):
        kill_jobs(folder, spool.name.removeprefix("spool-"))
    shutil.rmtree(folder, ignore_errors=True)


def daemons(folder: Path, pid: str) -> list[psutil.Process]:
    """The daemons whose pid files match `pid`, if they are still the recorded processes."""
    records = [json.loads(path.read_text()) for path in folder.rglob(f"{pid}{RECORD}")]
    same = (still_the_same(number, created) for number, created in records)
    return [daemon for daemon in same if daemon]


def kill_jobs(folder: Path, node: str) -> None:
    """Kill the processes of a node whose daemon is gone, and those that they start meanwhile."""
    while processes := job_processes(folder, node):
        kill(processes)
        time.sleep(0.02)


def job_processes(folder: Path, node: str) -> list[psutil.Process]:
    """The processes of jobs on a node, and their step daemons.

    A zombie, which has neither environment nor files, is never among them.
    """
    processes = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if _belongs(process, folder, node):
                processes.append(process)
    return processes


def _belongs(process: psutil.Process, folder: Path, node: str) -> bool:
    """Whether a process belongs to a job on a node, by its environment or a step daemon's log."""
    if process.name() == "slurmstepd":
        log = str(folder / f"{node}.log")
        return any(file.path == log for file in process.open_files())
    env = process.environ()
    same = env.get("SLURM_CONF") == str(folder / "slurm.conf")
    return same and env.get("SLURMD_NODENAME") == node


def kill(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
