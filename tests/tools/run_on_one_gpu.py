"""Run the lessons' commands for several ranks over NCCL, on one GPU that the ranks share.

    PYTHONPATH=tests python tests/tools/run_on_one_gpu.py [--jobs 4] [WORD ...]

runs those that contain one of the words, or all; tests/gpus/h200.toml keeps the results.
"""

import argparse
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import torch
from support import one_gpu

from course.commands import report_scripts
from course.core import ROOT
from course.lessons import lessons

LIMIT_S, LAST_LINES = 150.0, 12
# Parts of commands that need a launcher or several nodes, or are meant to fail.
NOT_HERE = ("timeout", "--max-restarts", "fails.py", "between_nodes", "...", "srun")
RANKS = re.compile(r"--(?:nproc-per-node|num_processes|nnodes) (\d+)")


def main() -> None:
    """Run the commands, and print the outcome of each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("There is no GPU here.")
    every = lessons(ROOT)
    chosen = [
        command.text
        for command in report_scripts.commands(every)
        if RANKS.search(command.text)
        and not any(word in command.text for word in NOT_HERE)
        and (not args.words or any(word in command.text for word in args.words))
    ]
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(args.jobs) as pool:
        report_scripts.write(every, Path(name))
        for line in pool.map(partial(run_command, Path(name)), chosen):
            print(line, flush=True)


def run_command(home: Path, text: str) -> str:
    """Run a command; return its outcome and time, and the last lines of one that failed."""
    words = text.split()
    script = next(n for n, word in enumerate(words) if word.endswith(".py"))
    ranks = 1
    for number in RANKS.findall(text):
        ranks *= int(number)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name, Path(name, "output").open("w+") as output:
        Path(name, "src").symlink_to(home / "src")
        Path(name, "runs", "saved").mkdir(parents=True)
        command = [sys.executable, *words[script:]]
        codes = one_gpu.run(command, ranks, LIMIT_S, Path(name), output, PYTHONPATH=str(ROOT))
        output.seek(0)
        last = output.read().splitlines()[-LAST_LINES:]
    took = f"{time.monotonic() - start:5.1f} s  {text}"
    if not any(code != 0 for code in codes):
        return f"ok    {took}"
    how = "limit" if None in codes else "failed"
    return "\n      ".join([f"{how:6}{took}", *last])


if __name__ == "__main__":
    main()
