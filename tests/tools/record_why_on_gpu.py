"""Record what `why` sees on a GPU that two ranks share, and print each run's first causes.

    PYTHONPATH=tests python tests/tools/record_why_on_gpu.py FILE.json.xz

Times mean little there, but streams, kernels and clocks are real.
"""

import json
import lzma
import sys
import tempfile
from pathlib import Path

import torch
from support import one_gpu

from course.charts import traces
from course.diagnostics import WhyAnswer
from course.diagnostics.profiling import timeline
from course.diagnostics.watch.command import environment
from course.diagnostics.why import devices

PLANT = Path(__file__).parents[1] / "diagnostics" / "why" / "plants" / "on_gpus.py"
TIMES = {"healthy": 24, "copies": 24, "straggler computes": 24, "bandwidth": 24}
CAUSES = (*TIMES, "straggler in backward", "saving", "not sharded", "buffers", "input")
STEPS, CHECKSUMS = 8, 32  # how many timed steps, and samples of a step, are kept
LIMIT_S = 120.0


def main(file: Path) -> None:
    """Record all runs into `file`, and print their causes."""
    if not torch.cuda.is_available():
        raise SystemExit("There is no GPU here, so there is nothing to record.")
    phases = {}
    for cause in CAUSES:
        with tempfile.TemporaryDirectory() as name:
            run(cause, Path(name))
            phases[cause] = [report_and_trace(Path(name), rank) for rank in range(2)]
            reports = [timeline.read(path) for path in sorted(Path(name).glob("rank*.json"))]
            for rank in reports:
                devices.see(rank, Path(name) / f"gpu{rank.rank}.json")
        causes = WhyAnswer(reports).causes[:3]
        print(
            f"{cause:22}",
            "; ".join(f"{candidate.name} {candidate.share:.2f}" for candidate in causes),
        )
    file.write_bytes(lzma.compress(json.dumps(phases, separators=(",", ":")).encode(), preset=9))


def run(cause: str, folder: Path) -> None:
    """Run both ranks of one script; raise `SystemExit` if one fails."""
    command = [sys.executable, str(PLANT), cause, str(folder)]
    env = environment(folder, 20) | {"TIMES": str(TIMES.get(cause, 6))}
    codes = one_gpu.run(command, 2, LIMIT_S, **env)
    if codes != [0, 0]:
        raise SystemExit(f"{cause}: the ranks ended with {codes}")


def report_and_trace(folder: Path, number: int) -> dict:
    """The report and the trace of a rank, reduced to what `why` reads."""
    rank = json.loads((folder / f"rank{number}.json").read_text())
    rank["steps"] = rank["steps"][-STEPS:]
    for step in rank["steps"] + rank["recorded"]:
        step["rows"], step["model_rows"] = step["rows"][:CHECKSUMS], step["model_rows"][:CHECKSUMS]
        step["slices"] = [
            {name: value for name, value in slice_.items() if value or name in ("start", "end")}
            for slice_ in step["slices"]
        ]
    trace = json.loads((folder / f"gpu{number}.json").read_text())
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    done = [event for event in events if event.get("cat") in traces.DEVICE]
    correlations = {event["args"]["correlation"] for event in done}
    done += [
        event
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
        and event["args"].get("correlation") in correlations
    ]
    slices = [
        {name: event[name] for name in ("ph", "cat", "name", "ts", "dur")}
        | {"args": {"correlation": event["args"]["correlation"]}}
        for event in done
    ]
    since = trace["baseTimeNanoseconds"]
    return {"rank": rank, "trace": {"baseTimeNanoseconds": since, "traceEvents": slices}}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
