"""Runs several ranks over NCCL that share the one GPU of a machine.

Each rank claims a host of its own, so that NCCL lets several share a GPU (up to 2.29; later
releases need NCCL_MULTI_RANK_GPU_ENABLE). They communicate over loopback. NVIDIA does not support
this: a Python error means something, but a time or a timeout means nothing.
"""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import IO

from support.ports import free_port

SHARED = {
    "LOCAL_RANK": "0",
    "LOCAL_WORLD_SIZE": "1",
    "MASTER_ADDR": "127.0.0.1",
    "NCCL_SOCKET_IFNAME": "lo",
    "NCCL_NET": "Socket",
    "NCCL_MULTI_RANK_GPU_ENABLE": "1",
    "GLOO_SOCKET_IFNAME": "lo",
}
GRACE_S = 8.0  # for the other ranks to report errors after one has failed


def run(
    command: list[str],
    ranks: int,
    limit: float,
    folder: Path | None = None,
    output: IO[str] | None = None,
    **env: str,
) -> list[int | None]:
    """Run the ranks; return their exit codes, None for those still running after `limit` s."""
    world = {"WORLD_SIZE": str(ranks), "MASTER_PORT": str(free_port())}
    mine = os.environ | SHARED | world | env
    running = [
        subprocess.Popen(
            command,
            cwd=folder,
            env=mine | {"RANK": str(rank), "GROUP_RANK": str(rank), "NCCL_HOSTID": f"host{rank}"},
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            start_new_session=True,
        )
        for rank in range(ranks)
    ]
    end = time.monotonic() + limit
    try:
        while any(rank.poll() is None for rank in running) and time.monotonic() < end:
            if any(rank.poll() for rank in running):
                end = min(end, time.monotonic() + GRACE_S)
            time.sleep(0.1)
        return [rank.poll() for rank in running]
    finally:
        for rank in running:
            if rank.poll() is None:
                os.killpg(rank.pid, signal.SIGKILL)
            rank.wait()
