"""Runs the lessons' scripts on pretended GPUs, and reports their errors and warnings."""

from pathlib import Path

from course.launch import Run, launch
from support import on_pretended_gpus, solutions
from support.patience import PATIENCE_S

# Hides real GPUs; and small tensors gain nothing from more threads.
ENVIRONMENT = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}


# By lesson: a script, a text that occurs in it once, and the text that replaces it.
SHRUNK = {
    "00_start_here": [("data_or_layers.py", "(12, 4096, 4096)", "(2, 64, 64)")],
    "01_data_parallel": [("dp_or_ddp.py", "256 if on_gpus", "2 if on_gpus")],
    "02_all_reduce": [
        ("ping.py", "10 if device", "3 if device"),
        ("timing.py", "2**28 if", "2**12 if"),
        ("measure.py", "10 if device", "3 if device"),
        ("duel.py", "256 if device", "1 if device"),
    ],
    "03_distributed_data_parallel": [
        ("ddp.py", 'nli.tokenized("train")', 'nli.tokenized("train", size=64)'),
        ("ddp.py", 'nli.tokenized("validation")', 'nli.tokenized("validation", size=10)'),
    ],
    "03b_overlap": [
        ("compare.py", '("wide", 25) if', '("tiny", 1) if'),
        ("compare.py", "size=32)", "size=4)"),
        ("real.py", '["train"].map(', '["train"].select(range(128)).map('),
    ],
    "06_horovod_style": [("digits_hvd.py", "3, 20, 0.02", "1, 200, 0.02")],
    "07_strategies": [
        ("strategy_race.py", "(8192, 4096, 4, 7) if", "(8, 8, 1, 1) if"),
        ("train_any.py", "epochs: int = 2", "epochs: int = 1"),
    ],
    "07b_six_ways": [("same_task.py", "range(1280)", "range(128)")],
    "08_scaling": [
        (
            "benchmark.py",
            "rounds: int = 5, steps: int = 5, warmup: int = 3",
            "rounds: int = 2, steps: int = 1, warmup: int = 0",
        ),
        ("throughput.py", '("mini", 64, 20) if', '("tiny", 1, 1) if'),
        ("where.py", '("mini", 2048) if', '("tiny", 4) if'),
    ],
}


def written(lab: str, folder: Path) -> Path:
    """Write a lesson's scripts, with smaller sizes, to `folder`/src; return `folder`."""
    src = folder / "src"
    src.mkdir()
    solutions.write(lab, src)
    for script, old, new in SHRUNK.get(lab, []):
        text = (src / script).read_text()
        assert text.count(old) == 1, f"{script} has {old!r} {text.count(old)} times"
        (src / script).write_text(text.replace(old, new))
    return folder


def on_gpus(folder: Path, script: str, *args: str, ranks: int = 2, gpus: int = 2) -> Run:
    """Run a script of `folder` on ranks that see `gpus` pretended GPUs."""
    command = ["torchrun", "--standalone", "--nproc-per-node", str(ranks)]
    command += [on_pretended_gpus.__file__, str(gpus), str(folder / script), *args]
    return launch(command, limit=PATIENCE_S, env=ENVIRONMENT)


def fault(run: Run) -> str:
    """The first error or warning of a run, as a rank or the launcher wrote it; "" if none."""
    first = run.first_failed
    if first is not None and run.raised(first):
        return run.raised(first)
    complaints = [_complaints(run.text(rank, "stderr")) for rank in (None, *run.exit_codes)]
    return next(filter(None, complaints), "" if run.ok else f"it ended so: {run.reason}")


def _complaints(stderr: str) -> str:
    """A rank's standard error, without the progress bars of `datasets`."""
    lines = [line for line in stderr.splitlines() if not line.startswith("Map:")]
    return "\n".join(lines).strip()
