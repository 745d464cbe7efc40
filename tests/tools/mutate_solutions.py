"""Mutate each solution, and list the mutations that its checks accept.

    make mutate NAME=my_barrier
    PYTHONPATH=tests .venv/bin/python tests/tools/mutate_solutions.py FOLDER [EXERCISE ...]

A mutation takes seconds, an exercise minutes, and all exercises, the default, take hours. FOLDER
(`make` uses build/mutants) keeps the verdicts, so a second call continues where the first one
ended. A refused mutation stays refused; an accepted one is tried again once a check has changed.
An accepted mutation that is not a fault goes into `equivalent_mutants.toml` next to this file, as
it is printed, with the reason. Any other accepted mutation becomes a mutant of `tests/mutants`.
`--most N` tries only N mutations of each exercise, chosen at random but the same each time.
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
from support.mutations import Mutation, mutations

from course.checks.runner import session
from course.checks.runner.check import digest
from course.exercises import Outcome, Report, exercise, exercises
from course.launch import warm_up

LIMIT_S = 8.0  # until ranks count as deadlocked
MUTATION_S = 5.0  # roughly how long it takes to try a mutation
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
ACCEPTED, REFUSED, UNDECIDED = "accepted", "refused", "not judged"


class Verdicts:
    """The verdicts on the mutations of one exercise's solution, one per line of a file."""

    def __init__(self, folder: Path, name: str) -> None:
        self._file, self._checks = folder / f"{name}.jsonl", digest()
        lines = self._file.read_text().splitlines() if self._file.exists() else []
        self._known = {line["change"]: line for line in map(json.loads, lines)}

    def get(self, mutation: Mutation) -> str | None:
        """The verdict on a mutation; None if there is none that is still valid."""
        known = self._known.get(_key(mutation))
        is_valid = known and (known["verdict"] == REFUSED or known["checks"] == self._checks)
        return known["verdict"] if is_valid else None

    def add(self, mutation: Mutation, verdict: str, message: str) -> None:
        """Keep a verdict."""
        line = {"change": _key(mutation), "verdict": verdict, "says": message}
        line |= {"checks": self._checks, "line": mutation.line, "diff": mutation.diff}
        self._known[line["change"]] = line
        with self._file.open("a") as file:
            file.write(json.dumps(line) + "\n")


def _key(mutation: Mutation) -> str:
    return sha256(mutation.script.encode()).hexdigest()[:16]


def judge(name: str, mutation: Mutation) -> tuple[str, str]:
    """The verdict of the checks on a mutation, and the message of the check that refuses it."""

    def until_refused(report: Report) -> None:
        if any(result.outcome == Outcome.FAILED for result in report.results):
            pytest.exit("refused", returncode=pytest.ExitCode.INTERRUPTED)

    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        solutions.write(exercise(name).path.stem, Path(folder))
        Path(folder, f"{name}.py").write_text(mutation.script)
        (report,) = session.run(Path(folder), [name], limit=LIMIT_S, save=until_refused)
    for result in report.results:
        if result.outcome == Outcome.FAILED:
            return REFUSED, f"{result.check}: {result.message}"
    return (ACCEPTED, "") if report.ok else (UNDECIDED, str(report))


def chosen_mutations(name: str, most: int | None) -> list[Mutation]:
    """The mutations of an exercise to try: all, or `most` of them at random."""
    candidates = mutations(exercise(name).script(solved=True))
    if most is None or len(candidates) <= most:
        return candidates
    return sorted(random.Random(0).sample(candidates, most), key=lambda mutation: mutation.line)


def equivalent_mutants() -> dict[tuple[str, str], str]:
    """The reason why a mutation is not a fault, by exercise and diff."""
    known = tomllib.loads(EQUIVALENT.read_text())
    return {
        (name, mutant["diff"].strip()): mutant["why"] for name in known for mutant in known[name]
    }


def accepted_mutations(name: str, folder: Path, most: int | None) -> Iterator[Mutation]:
    """Try the mutations of an exercise; yield those that are accepted, if they may be faults."""
    verdicts, counts, equivalent = Verdicts(folder, name), Counter(), equivalent_mutants()
    chosen = chosen_mutations(name, most)
    to_judge = [mutation for mutation in chosen if (name, mutation.diff.strip()) not in equivalent]
    untried = sum(verdicts.get(mutation) is None for mutation in to_judge)
    minutes = untried * MUTATION_S / 60
    print(f"{name}: {untried} mutations to try, about {minutes:.0f} min", flush=True)
    for mutation in to_judge:
        if verdicts.get(mutation) is None:
            verdicts.add(mutation, *judge(name, mutation))
        verdict = verdicts.get(mutation)
        counts[verdict] += 1
        if verdict != REFUSED:
            yield mutation
    counts["equivalent"] = len(chosen) - len(to_judge)
    print(f"{name}: {len(chosen)} mutations, {dict(counts)}", flush=True)


def as_row(name: str, mutation: Mutation) -> str:
    """A mutation as `equivalent_mutants.toml` has it, with its place, and without a reason yet."""
    place = f"# {name}.py:{mutation.line}: {mutation.kind}"
    return f"{place}\n[[{name}]]\nwhy = \"\"\ndiff = '''\n{mutation.diff}'''\n"


def main() -> None:
    """Try the mutations, and print those that are accepted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=list(exercises()))
    parser.add_argument("--most", type=int)
    args = parser.parse_intermixed_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    warm_up()
    for name in args.names:
        for mutation in accepted_mutations(name, args.folder, args.most):
            print(as_row(name, mutation), flush=True)


if __name__ == "__main__":
    main()
