"""Every plausible wrong answer to an exercise is rejected, by the check that names its fault.

The wrong answers to the exercises of lab NN_name are in ``mutants_NN_name.py``. That the right ones pass is seen in the
solutions: the build refuses one whose `%check` does not hold, and nbval runs it again.
"""

import importlib
from pathlib import Path

import pytest
from support import mutants
from support.mutants import Mutant, verdict

from course.checks.engine import session
from course.checks.engine.catalogue import exercises, node_of
from course.launch import connect

LABS = {
    path.stem.removeprefix("mutants_"): importlib.import_module(f"support.{path.stem}").MUTANTS
    for path in sorted(Path(mutants.__file__).parent.glob("mutants_*.py"))
}
CASES = [(lab, mutant) for lab, mutants in LABS.items() for mutant in mutants]
EXERCISES = {mutant.exercise: lab for lab, mutant in CASES}


@pytest.fixture(scope="module", autouse=True)
def warm_ranks() -> None:
    """Ranks that start at once."""
    connect.warm_up()


def test_every_exercise_has_mutants() -> None:
    assert set(exercises()) == set(EXERCISES)


@pytest.mark.parametrize(("lab", "mutant"), CASES, ids=str)
def test_mutant_is_rejected(lab: str, mutant: Mutant, tmp_path: Path) -> None:
    result = verdict(lab, tmp_path, mutant)
    assert result.outcome == session.FAILED, f"{mutant} passes {mutant.check}"
    assert result.message and result.hint


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_check_has_a_mutant(exercise: str) -> None:
    """A check that rejects no mutant may be a check that cannot fail."""
    path, _, name = node_of(exercise).partition("::")
    checks = dir(
        getattr(
            importlib.import_module(f"course.checks.{Path(path).parent.name}.{Path(path).stem}"),
            name,
        )
    )
    found = {mutant.check for _, mutant in CASES if mutant.exercise == exercise}
    assert found == {check for check in checks if check.startswith("test_")}
