"""Every plausible wrong answer to an exercise is rejected, by the check that names its fault.

The wrong answers to the exercises of a lab are in ``tests/mutants/NN_name.md``. That the right
ones pass is seen in the solutions: the build refuses one whose `%check` does not hold, and nbval
runs it again.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from support import mutants
from support.answers import Answer

from course.checks.lab_08 import benchmark
from course.exercises import Outcome, exercises
from course.launch import connect

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

MUTANTS = [mutant for path in mutants.FILES for mutant in mutants.read(path)]
EXERCISES = sorted({mutant.exercise for mutant in MUTANTS})


@pytest.fixture(scope="module", autouse=True)
def warm_ranks() -> None:
    """Ranks that start at once."""
    connect.warm_up()


def test_every_exercise_has_mutants() -> None:
    assert set(exercises()) == set(EXERCISES)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_mutant_is_rejected(mutant: Answer, tmp_path: Path) -> None:
    result = mutants.verdict(mutant, tmp_path)
    assert result.outcome == Outcome.FAILED, f"{mutant} passes {mutant.check}"
    assert result.message
    assert result.message.startswith("The limit of") == mutant.hangs, result.message


def test_a_figure_of_one_step_is_not_taken_for_a_missing_warm_up(tmp_path: Path) -> None:
    title = "It counts the samples of one step only"
    (found,) = (mutant for mutant in MUTANTS if mutant.title == title)
    result = mutants.verdict(replace(found, check="test_warm_up"), tmp_path)
    assert result.hint == benchmark.ONE_STEP


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_check_has_a_hint(exercise: str) -> None:
    assert all(check.hint for check in mutants.checks_of(exercise).values())


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_check_has_a_mutant(exercise: str) -> None:
    """A check that rejects no mutant may be a check that cannot fail."""
    found = {mutant.check for mutant in MUTANTS if mutant.exercise == exercise}
    assert found == set(mutants.checks_of(exercise))
