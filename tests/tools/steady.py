"""Run `make test` again and again, on a quiet and a busy machine, and see if it always passes.

python tests/tools/steady.py                       ten runs: five quiet, three busy, and two more
python tests/tools/steady.py busy order            only these, each as often as above
python tests/tools/steady.py quiet --times 1 --args tests/core      one run of some tests

Nothing else should run meanwhile. The table grows by a row after each run; each has its log in
build/steady.
"""

import argparse
import contextlib
import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "build" / "steady"
TIMES = {"quiet": 5, "busy": 3, "one-core": 1, "order": 1}  # how often under each condition
BUSY_LOOPS = 2
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """One run: exit code, seconds, how many tests passed, and the names of those that failed."""

    code: int
    wall_s: float
    passed: int
    failed: list[str]

    @property
    def ok(self) -> bool:
        """Whether tests ran and all passed."""
        return self.code == 0 and self.passed > 0 and not self.failed


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Run this many programs that only compute, for the block."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run(condition: str, log: Path, tests: str, seed: str) -> Outcome:
    """Run `make test` under a condition."""
    command = ["make", "test", *([f"ARGS={tests}"] if tests else [])]
    env = dict(os.environ)
    if condition == "one-core":
        command = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command]
    if condition == "order":
        env["COURSE_ORDER"] = seed
    start = time.monotonic()
    with busy_loops(BUSY_LOOPS if condition == "busy" else 0), log.open("w") as file:
        code = subprocess.run(
            command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        ).returncode
    return outcome(code, time.monotonic() - start, log.read_text(errors="replace"))


def outcome(code: int, wall_s: float, printed: str) -> Outcome:
    """The outcome of a run, from its exit code and what it printed."""
    passed = re.search(r"\b(\d+) passed.* in [\d.]+s", printed)
    failed = list(dict.fromkeys(FAILED.findall(printed)))
    return Outcome(code, wall_s, int(passed[1]) if passed else 0, failed)


def main(argv: list[str]) -> int:
    """Print the table; the exit code says whether all runs were green."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("conditions", nargs="*", metavar="condition", help=", ".join(TIMES))
    parser.add_argument("--times", type=int, help="runs under each condition")
    parser.add_argument("--args", default="", help="the tests, as in `make test ARGS=`")
    args = parser.parse_args(argv)
    if unknown := set(args.conditions) - set(TIMES):
        parser.error(f"there is no condition {', '.join(sorted(unknown))}")
    LOGS.mkdir(parents=True, exist_ok=True)
    all_ok, number = True, 0
    print("| run | condition | min:s | passed | failed | log |\n|---|---|---|---|---|---|")
    for condition in args.conditions or TIMES:
        for _ in range(args.times or TIMES[condition]):
            number += 1
            seed = secrets.token_hex(4)
            log = LOGS / f"{number:02}-{condition}.log"
            result = run(condition, log, args.args, seed)
            all_ok &= result.ok
            minutes, seconds = divmod(round(result.wall_s), 60)
            name = f"order {seed}" if condition == "order" else condition
            failures = "<br>".join(result.failed) or ("0" if result.ok else f"make: {result.code}")
            row = (number, name, f"{minutes}:{seconds:02}", result.passed, failures, log)
            print("|", " | ".join(map(str, row)), "|", flush=True)
    return 0 if all_ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
