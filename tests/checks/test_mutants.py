"""Every plausible wrong answer to an exercise is rejected, by the check that names its fault.

The wrong answers to the exercises of a lab are in ``tests/mutants/NN_name.md``. The solutions
show that right answers pass: the build refuses a solution whose `%check` fails, and nbval runs
it again.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from support import mutants
from support.answers import Answer

from course.checks.lab_06b import hvd_fusion, hvd_negotiation
from course.checks.lab_08 import benchmark
from course.checks.lab_11 import my_vocabulary
from course.exercises import Outcome, exercises

pytestmark = [pytest.mark.slow, pytest.mark.sampled, pytest.mark.usefixtures("warm_ranks")]

MUTANTS = [mutant for path in mutants.FILES for mutant in mutants.read(path)]
EXERCISES = sorted({mutant.exercise for mutant in MUTANTS})


def test_every_exercise_has_mutants() -> None:
    assert set(exercises()) == set(EXERCISES)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_mutant_is_rejected(mutant: Answer, tmp_path: Path) -> None:
    result = mutants.verdict(mutant, tmp_path)
    assert result.outcome == Outcome.FAILED, f"{mutant}, {mutant.check}: {result}"
    assert result.message
    hangs = result.message.startswith("The limit of")
    how = "Hangs in" if hangs else "Named by"
    right = f"its ranks {'' if hangs else 'do not '}hang: write ``{how} `{mutant.check}`.``"
    assert hangs == mutant.hangs, f"{mutant}: {right}\n{result.message}"


@pytest.mark.parametrize(
    ("title", "check", "hint"),
    [
        ("It counts the samples of one step only", "test_warm_up", benchmark.ONE_STEP),
        ("The ranks meet before they synchronize", "test_starts_together", benchmark.BUSY),
        ("It uses the fastest rank's time", "test_starts_together", benchmark.SLOWEST),
        (
            "It lists requests in the order in which it heard them",
            "test_by_name",
            hvd_negotiation.IN_ORDER,
        ),
        ("Only the last message is open", "test_order", hvd_fusion.STAY_OPEN),
        (
            "It lets the gradient through the largest logit",
            "test_loss",
            my_vocabulary.GRADIENT,
        ),
        ("Its own place holds the tensor that the sum goes into", "test_own_work", ""),
    ],
    ids=[
        "one step",
        "barrier too early",
        "fastest rank",
        "as heard",
        "last message",
        "constant",
        "sum wrong",
    ],
)
def test_a_hint_fits_the_fault(title: str, check: str, hint: str, tmp_path: Path) -> None:
    (chosen,) = (mutant for mutant in MUTANTS if mutant.title == title)
    assert mutants.verdict(replace(chosen, check=check), tmp_path).hint == hint


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_check_has_a_hint(exercise: str) -> None:
    assert all(check.hint for check in mutants.checks_of(exercise).values())


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_check_has_a_mutant(exercise: str) -> None:
    """A check that rejects no mutant may be a check that cannot fail."""
    checks = {mutant.check for mutant in MUTANTS if mutant.exercise == exercise}
    assert checks == set(mutants.checks_of(exercise))
