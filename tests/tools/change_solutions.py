"""Change each solution a little, and list the changes that its checks accept.

    make changes NAME=my_barrier
    PYTHONPATH=tests .venv/bin/python tests/tools/change_solutions.py FOLDER [EXERCISE ...]

A change takes seconds, an exercise minutes, and all exercises, the default, take hours. FOLDER
(`make` uses build/changes) keeps the verdicts, so a second call continues where the first one
ended. A refused change stays refused; an accepted one is tried again once a check has changed.
An accepted change that is not a fault goes into `equal_changes.toml` next to this file, as it is
printed, with the reason. Any other accepted change becomes a mutant.
`--most N` tries only N changes of each exercise, chosen at random but the same each time.
"""

import argparse
import json
import random
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from support import solutions
from support.changes import Change, changes

from course.checks.runner import session
from course.checks.runner.check import digest
from course.exercises import Outcome, Report, exercise, exercises
from course.launch import warm_up

LIMIT_S = 8.0  # until ranks count as deadlocked
CHANGE_S = 5.0  # roughly how long it takes to try a change
EQUAL = Path(__file__).with_name("equal_changes.toml")
ACCEPTED, REFUSED, UNDECIDED = "accepted", "refused", "not judged"


class Verdicts:
    """The verdicts on the changes to one exercise's solution, one per line of a file."""

    def __init__(self, folder: Path, name: str) -> None:
        self._file, self._checks = folder / f"{name}.jsonl", digest()
        lines = self._file.read_text().splitlines() if self._file.exists() else []
        self._known = {line["change"]: line for line in map(json.loads, lines)}

    def get(self, change: Change) -> str | None:
        """The verdict on a change; None if there is none that is still valid."""
        known = self._known.get(_key(change))
        is_valid = known and (known["verdict"] == REFUSED or known["checks"] == self._checks)
        return known["verdict"] if is_valid else None

    def add(self, change: Change, verdict: str, message: str) -> None:
        """Keep a verdict."""
        line = {"change": _key(change), "verdict": verdict, "says": message}
        line |= {"checks": self._checks, "line": change.line, "diff": change.diff}
        self._known[line["change"]] = line
        with self._file.open("a") as file:
            file.write(json.dumps(line) + "\n")


def _key(change: Change) -> str:
    return sha256(change.script.encode()).hexdigest()[:16]


def judge(name: str, change: Change) -> tuple[str, str]:
    """The verdict of the checks on a change, and the message of the first check that refuses it."""

    def until_refused(report: Report) -> None:
        if any(result.outcome == Outcome.FAILED for result in report.results):
            pytest.exit("refused", returncode=pytest.ExitCode.INTERRUPTED)

    with tempfile.TemporaryDirectory(prefix="changed-") as folder:
        solutions.write(exercise(name).path.stem, Path(folder))
        Path(folder, f"{name}.py").write_text(change.script)
        (report,) = session.run(Path(folder), [name], limit=LIMIT_S, save=until_refused)
    for result in report.results:
        if result.outcome == Outcome.FAILED:
            return REFUSED, f"{result.check}: {result.message}"
    return (ACCEPTED, "") if report.ok else (UNDECIDED, str(report))


def chosen_changes(name: str, most: int | None) -> list[Change]:
    """The changes of an exercise to try: all, or `most` of them at random."""
    candidates = changes(exercise(name).script(solved=True))
    if most is None or len(candidates) <= most:
        return candidates
    return sorted(random.Random(0).sample(candidates, most), key=lambda change: change.line)


def equal_in_effect() -> dict[tuple[str, str], str]:
    """The reason why a change is not a fault, by exercise and diff."""
    known = tomllib.loads(EQUAL.read_text())
    return {
        (name, change["diff"].strip()): change["why"] for name in known for change in known[name]
    }


def accepted_changes(name: str, folder: Path, most: int | None) -> Iterator[Change]:
    """Try the changes of an exercise; yield those that are accepted and not known to be equal."""
    verdicts, counts, equal = Verdicts(folder, name), Counter(), equal_in_effect()
    chosen = chosen_changes(name, most)
    unequal = [change for change in chosen if (name, change.diff.strip()) not in equal]
    untried = sum(verdicts.get(change) is None for change in unequal)
    print(f"{name}: {untried} changes to try, about {untried * CHANGE_S / 60:.0f} min", flush=True)
    for change in unequal:
        if verdicts.get(change) is None:
            verdicts.add(change, *judge(name, change))
        verdict = verdicts.get(change)
        counts[verdict] += 1
        if verdict != REFUSED:
            yield change
    counts["equal in effect"] = len(chosen) - len(unequal)
    print(f"{name}: {len(chosen)} changes, {dict(counts)}", flush=True)


def as_row(name: str, change: Change) -> str:
    """A change in the format of `equal_changes.toml`, with its place, and without a reason yet."""
    place = f"# {name}.py:{change.line}: {change.kind}"
    return f"{place}\n[[{name}]]\nwhy = \"\"\ndiff = '''\n{change.diff}'''\n"


def main() -> None:
    """Try the changes, and print those that are accepted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=list(exercises()))
    parser.add_argument("--most", type=int)
    args = parser.parse_intermixed_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    warm_up()
    for name in args.names:
        for change in accepted_changes(name, args.folder, args.most):
            print(as_row(name, change), flush=True)


if __name__ == "__main__":
    main()
