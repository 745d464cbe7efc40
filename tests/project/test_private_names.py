"""Each private name of another project has a row on what happens if it is gone.

If a new release drops a name, the test of that name fails.
"""

import functools
import operator
from pkgutil import resolve_name

import pytest
from support.private_names import (
    CODE,
    LESSONS,
    Without,
    defined_names,
    looked_up_names,
    modules,
    scripts,
    used_names,
)

from course.core.files import ROOT
from course.pretended import entry

PRETENDED = ROOT / "course" / "pretended"
ROWS = {**CODE, **LESSONS}
PLACED = [f"{home}.{name}" for name, (home, _, _) in ROWS.items() if home]


def all_of(trees: dict, look: object) -> set[str]:
    """All names that `look` finds in these trees."""
    return functools.reduce(operator.or_, map(look, trees.values()))


@functools.cache
def ours() -> set[str]:
    """The private names that the course and its lessons define themselves."""
    return defined_names(modules().values()) | defined_names(scripts().values())


def test_the_courses_code_uses_these_and_no_others() -> None:
    trees = modules()
    names = all_of(trees, used_names) | all_of(trees, looked_up_names)
    assert names - ours() <= CODE.keys()
    assert CODE.keys() <= names, "rows of names that are gone from the code"


def test_the_lessons_use_these_and_no_others() -> None:
    trees = scripts()
    names = all_of(trees, used_names)
    assert names - ours() <= LESSONS.keys()
    assert LESSONS.keys() <= names, "rows of names that are gone from the lessons"


def test_what_one_sentence_refuses_is_asked_for_wherever_it_is_used() -> None:
    refused = {name for name, (_, without, _) in CODE.items() if without != Without.DOCUMENTED}
    unasked = {
        (path.relative_to(ROOT).as_posix(), name)
        for path, tree in modules().items()
        for name in refused & used_names(tree) - looked_up_names(tree)
        if PRETENDED not in path.parents
    }
    assert unasked == set()


def test_the_pretended_gpus_ask_for_all_of_it_when_they_begin() -> None:
    """`start` checks for what is used later, and turns a failed import into one sentence."""
    trees = {path: tree for path, tree in modules().items() if PRETENDED in path.parents}
    refused = {name for name, (_, without, _) in CODE.items() if without == Without.REFUSED}
    at_start = {name for _, name in entry.USED} | all_of(trees, looked_up_names)
    imported = {"_device", "_device_constructors", "_pytree", "_utils", "_get_device_index"}
    by_torch_itself = {"_timeout"}
    modules_of_c = {"_C", "_nn"}
    unasked = (all_of(trees, used_names) & refused) - at_start - imported
    assert unasked <= by_torch_itself | modules_of_c


@pytest.mark.parametrize("name", PLACED)
def test_the_installed_release_still_has(name: str) -> None:
    assert resolve_name(name) is not None
