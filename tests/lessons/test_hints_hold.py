"""The fuller hints are true of their exercises.

The code in a hint is code of the solution. The mistake that a hint warns of is a mutant that a
check rejects: the mutant quotes the hint, and `tests/checks/test_mutants.py` runs it. What hints
say about torch is tested in `tests/facts`.
"""

import re

import pytest
from support import mutants
from support.answers import Answer

from course.exercises import exercises

WARNED = [mutant for path in mutants.FILES for mutant in mutants.read(path) if mutant.warning]
CODE = re.compile(r"`([^`]+)`")
NUMBERS = {"r", "N", "w", "k"}  # letters that a hint counts with
ELSEWHERE = {
    ("my_ddp", "state_dict"): "what not to take",
    ("hvd_negotiation", "error"): "a field of what the lab gives",
    ("my_fsdp", "ZeroTwo"): "a class of lab 10",
    ("way_ddp", "device_ids"): "what a GPU would want",
}


@pytest.mark.parametrize("name", exercises())
def test_the_code_in_a_hint_is_code_of_the_solution(name: str) -> None:
    exercise = exercises()[name]
    code = [words for hint in exercise.hints.values() for words in CODE.findall(hint)]
    named = set(re.findall(r"[^\W\d]\w*", " ".join(code)))
    known = set(re.findall(r"\w+", exercise.script(solved=True))) | NUMBERS
    assert named - known == {word for of, word in ELSEWHERE if of == name}


@pytest.mark.parametrize("mutant", WARNED, ids=str)
def test_a_mutant_quotes_the_hint_that_warns_of_it(mutant: Answer) -> None:
    assert mutant.warning in " ".join(exercises()[mutant.exercise].hints.values())


def test_the_hints_of_every_exercise_warn_of_a_mutant() -> None:
    assert {mutant.exercise for mutant in WARNED} == exercises().keys(), "let a mutant quote one"
