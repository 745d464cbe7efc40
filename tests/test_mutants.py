"""Every plausible wrong answer to an exercise is rejected, by the check that names its fault.

The wrong answers to the exercises of lab NN_name are in ``mutants_NN_name.py``.
"""

import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from mutants import Mutant, verdict, write

from course import connect
from course.checks import session
from course.checks.exercises import exercises

LABS = {
    path.stem.removeprefix("mutants_"): importlib.import_module(path.stem).MUTANTS
    for path in sorted(Path(__file__).parent.glob("mutants_*.py"))
}
CASES = [(lab, mutant) for lab, mutants in LABS.items() for mutant in mutants]
EXERCISES = {mutant.exercise: lab for lab, mutant in CASES}


@pytest.fixture(scope="module", autouse=True)
def warm_ranks() -> None:
    """Ranks that start at once."""
    connect.warm_up()


@pytest.fixture(scope="module")
def results_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    """What the checks of an exercise say of its solution, run once."""

    @cache
    def results(exercise: str) -> list[session.Result]:
        folder = tmp_path_factory.mktemp(exercise)
        write(EXERCISES[exercise], folder)
        return session.run(folder, [exercise])

    return results


def test_every_exercise_has_mutants() -> None:
    assert set(exercises()) == set(EXERCISES)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_solution_passes(results_of, exercise: str) -> None:
    results = results_of(exercise)
    assert results
    assert not [result for result in results if result.outcome != session.PASSED]


@pytest.mark.parametrize(("lab", "mutant"), CASES, ids=str)
def test_mutant_is_rejected(lab: str, mutant: Mutant, tmp_path: Path) -> None:
    result = verdict(lab, tmp_path, mutant)
    assert result.outcome == session.FAILED, f"{mutant} passes {mutant.check}"
    assert result.message and result.hint


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_check_has_a_mutant(results_of, exercise: str) -> None:
    """A check that rejects no mutant may be a check that cannot fail."""
    checks = {result.check for result in results_of(exercise)}
    assert checks == {mutant.check for _, mutant in CASES if mutant.exercise == exercise}
