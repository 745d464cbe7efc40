"""Record what `why` sees on a GPU: ``python tests/tools/record_why_on_gpu.py FILE.json.xz``.

Two ranks share the box's first GPU over NCCL: each says that it is on a host of its own. NVIDIA
does not support that, so times mean little, but streams, kernels and clocks are real. (NCCL until
2.29 takes it so; later ones want NCCL_MULTI_RANK_GPU_ENABLE.) Prints the first causes of each run.
"""

import json
import lzma
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from course.charts import traces
from course.why import Answer, devices, timeline
from course.why.watching import WITHIN

PLANT = Path(__file__).parents[1] / "why" / "plants" / "on_gpus.py"
TIMES = {"healthy": 24, "copies": 24, "straggler computes": 24, "bandwidth": 24}
CAUSES = (*TIMES, "straggler in backward", "saving", "not sharded", "buffers", "input")
STEPS, CHECKSUMS = 8, 32  # that are kept, of those that were timed and of each step's samples
LIMIT_S = 120
SHARED = {
    "WORLD_SIZE": "2",
    "LOCAL_RANK": "0",
    "LOCAL_WORLD_SIZE": "1",
    "MASTER_ADDR": "127.0.0.1",
    "NCCL_SOCKET_IFNAME": "lo",
    "NCCL_NET": "Socket",
    "NCCL_MULTI_RANK_GPU_ENABLE": "1",
}


def main(file: Path) -> None:
    """Record all, and keep them."""
    if not torch.cuda.is_available():
        raise SystemExit("There is no GPU here, so there is nothing to record.")
    found = {}
    for cause in CAUSES:
        with tempfile.TemporaryDirectory() as name:
            run(cause, Path(name))
            found[cause] = [recorded(Path(name), rank) for rank in range(2)]
            told = [timeline.read(path) for path in sorted(Path(name).glob("rank*.json"))]
            for rank in told:
                devices.see(rank, Path(name) / f"gpu{rank.rank}.json")
        causes = Answer(told).causes[:3]
        print(f"{cause:22}", "; ".join(f"{each.cause} {each.share:.2f}" for each in causes))
    file.write_bytes(lzma.compress(json.dumps(found, separators=(",", ":")).encode(), preset=9))


def run(cause: str, folder: Path) -> None:
    """Both ranks of one training; raises if one fails."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [sys.executable, str(WITHIN), str(folder), "20", str(PLANT), cause, str(folder)]
    env = os.environ | SHARED | {"MASTER_PORT": port, "TIMES": str(TIMES.get(cause, 6))}
    ranks = [
        subprocess.Popen(command, env=env | {"RANK": str(rank), "NCCL_HOSTID": f"host{rank}"})
        for rank in range(2)
    ]
    try:
        codes = [rank.wait(LIMIT_S) for rank in ranks]
        if any(codes):
            raise SystemExit(f"{cause}: a rank failed")
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()


def recorded(folder: Path, number: int) -> dict:
    """What a rank told and its trace, without what `why` does not read."""
    rank = json.loads((folder / f"rank{number}.json").read_text())
    rank["steps"] = rank["steps"][-STEPS:]
    for step in rank["steps"] + rank["recorded"]:
        step["rows"], step["fed"] = step["rows"][:CHECKSUMS], step["fed"][:CHECKSUMS]
        step["slices"] = [
            {name: value for name, value in slice_.items() if value or name in ("start", "end")}
            for slice_ in step["slices"]
        ]
    trace = json.loads((folder / f"gpu{number}.json").read_text())
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    done = [event for event in events if event.get("cat") in traces.DEVICE]
    asked = {event["args"]["correlation"] for event in done}
    done += [
        event
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
        and event["args"].get("correlation") in asked
    ]
    kept = [
        {name: event[name] for name in ("ph", "cat", "name", "ts", "dur")}
        | {"args": {"correlation": event["args"]["correlation"]}}
        for event in done
    ]
    since = trace["baseTimeNanoseconds"]
    return {"rank": rank, "trace": {"baseTimeNanoseconds": since, "traceEvents": kept}}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
