"""The page on writing lessons names only magics, attributes and functions that cells can use."""

import importlib
import re

import pytest

from course.core.files import ROOT
from course.launch import Run
from course.lessons import rules
from course.notebook.magics import CourseMagics

TABLE = (ROOT / "course/lessons/README.md").read_text().partition("**What cells can use.**")[2]
MAGICS = re.findall(r"`(?:\w+ = )?%(\w+)", TABLE)
ROWS = re.findall(r"^\| (?:cell|script) \| (.+?) \|", TABLE, re.MULTILINE)
IMPORTED = [
    (module, name)
    for row in ROWS
    for names, module in re.findall(r"(.+?) of `(course[\w.]*)`", row)
    for name in re.findall(r"`(\w+)(?:\.\w+)?\(", names)
]


def test_every_magic_is_there():
    assert len(MAGICS) > 5
    assert [name for name in MAGICS if not callable(getattr(CourseMagics, name, None))] == []


def test_lessons_may_use_every_magic_of_the_course():
    own = {name for magics in CourseMagics.magics.values() for name in magics}
    assert own | {"load_ext", "env", "matplotlib"} == rules.MAGICS


def test_a_run_has_every_attribute():
    named = re.findall(r"`run\.(\w+)", TABLE)
    assert len(named) > 5
    assert [name for name in named if name not in {*dir(Run), *Run.__dataclass_fields__}] == []


@pytest.mark.parametrize(("module", "name"), sorted(set(IMPORTED)))
def test_every_name_can_be_imported(module, name):
    imported = importlib.import_module(module)
    assert hasattr(imported, name) or importlib.import_module(f"{module}.{name}")
