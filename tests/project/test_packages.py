"""CONTRIBUTING.md lists all packages, which import only from those above, by public names."""

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Callable
from graphlib import TopologicalSorter
from operator import attrgetter

import pytest
from support.packages import (
    COURSE,
    ORDER,
    PATHS,
    PUBLIC,
    Import,
    imports,
    package_of,
    packages,
    public_names,
)

from course.core.files import ROOT
from course.lessons.lesson import lessons
from course.lessons.rules import runnable

# `%load_ext course` calls a function of `course`, long after that was imported.
EXCEPTION = ("course", "course.notebook")
OWN = [package.module for package in packages() if package.inside == "diagnostics"]
LIGHT = ("core", "drawing", "hardware", "launch")
CODE = [
    path
    for folder in ("course", "tests")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".js", ".css")
]
HEAVY = ("torch", "pandas", "matplotlib", "IPython", "jupytext", "nbformat", "transformers")


def folders(*inside: str) -> set[str]:
    """The folders in a folder of the project."""
    entries = ROOT.joinpath(*inside).iterdir()
    return {path.name for path in entries if path.is_dir() and path.name[0] not in "._"}


def imported(module: str) -> list[Import]:
    """What a module imports from the course, except for the one `EXCEPTION`."""
    all_imports = imports(PATHS[module].read_text())
    return [target for target in all_imports if (module, target.module) != EXCEPTION]


def complaints(package: str, allowed: Callable[[str, Import], bool]) -> list[str]:
    """The imports in a package that are not allowed."""
    modules = [module for module in PATHS if package_of(module) == package]
    return [
        f"{module}: {target}"
        for module in modules
        for target in imported(module)
        if not allowed(module, target)
    ]


def test_the_list_has_every_package_and_no_other():
    there = folders("course") | {path.name for path in COURSE.iterdir() if path.is_file()}
    assert sorted(there) == sorted(package.name for package in packages() if package.inside is None)
    assert len(there) <= 19


@pytest.mark.parametrize(
    "package", [package for package in packages() if package.inside is None], ids=attrgetter("name")
)
def test_the_list_has_every_subpackage_and_no_other(package):
    listed = {other.name for other in packages() if other.inside == package.name}
    there = folders("course", package.name) if (COURSE / package.name).is_dir() else set()
    assert {re.sub(r"^lab_\d\d\w?$", "lab_NN", name) for name in there} == listed


def test_the_list_says_what_each_package_is_for():
    assert [
        package.name for package in (*packages(), *packages("tests")) if len(package.job) < 10
    ] == []


def test_the_folders_of_the_tests_mirror_the_packages():
    others = {package.name for package in packages("tests")} - {"PACKAGE"}
    assert others <= folders("tests") <= others | folders("course")


@pytest.mark.parametrize("package", ORDER)
def test_a_package_imports_only_from_those_above(package):
    allowed = ORDER[: ORDER.index(package) + 1]
    assert complaints(package, lambda module, target: package_of(target.module) in allowed) == []


@pytest.mark.parametrize("package", OWN)
def test_a_subpackage_of_diagnostics_imports_only_from_those_above(package):
    def subpackage(module: str) -> str:
        return ".".join(module.split(".")[:3])

    allowed = {"course.diagnostics.finding", *OWN[: OWN.index(package) + 1]}
    assert [
        f"{module}: {target}"
        for module in PATHS
        for target in imported(module)
        if subpackage(module) == package
        and package_of(target.module) == "course.diagnostics"
        and subpackage(target.module) not in allowed
    ] == []


@pytest.mark.parametrize("package", ORDER)
def test_a_package_imports_from_another_by_its_public_names(package):
    assert (
        complaints(
            package,
            lambda _, target: package_of(target.module) == package or target.is_public,
        )
        == []
    )


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("from course import hardware, log", True),
        ("import course.hardware", True),
        ("from course.core import CourseError, words", True),
        ("from course.clusters import slurm", True),
        ("from course.explore.models import alpha_beta", True),
        ("from course.models import bert", True),
        ("from course.core.words import plural", False),
        ("import course.core.words", False),
        ("from course.explore import pictures", False),
        ("from course.checks.runner import session", False),
        ("from course.hardware import nothing_of_this_name", False),
    ],
)
def test_which_imports_are_public(line, allowed):
    assert all(target.is_public for target in imports(line)) is allowed


@pytest.mark.parametrize("package", ORDER)
def test_a_package_imports_from_itself_by_the_module(package):
    def by_module(module: str, target: Import) -> bool:
        return target.origin != package or target.module != package or module in PUBLIC

    assert complaints(package, by_module) == []


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests").rglob("on_rank_*.py")), ids=attrgetter("stem")
)
def test_a_file_that_ranks_load_imports_nothing_of_the_tests(path):
    """Ranks load it by its path, and the folder of the tests is not on theirs."""
    assert not re.findall(r"^(?:from|import) support\b.*", path.read_text(), re.MULTILINE)


def test_no_modules_import_each_other_in_a_circle():
    graph = {module: {target.module for target in imported(module)} - {module} for module in PATHS}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


@pytest.mark.parametrize("lesson", lessons(ROOT), ids=attrgetter("name"))
def test_a_lesson_imports_by_public_names(lesson):
    code = lesson.code
    all_imports = [target for cell in code for target in imports(runnable(cell.source))]
    assert all_imports
    assert [str(target) for target in all_imports if not target.is_public] == []


@pytest.mark.parametrize("module", sorted(PUBLIC))
def test_public_names_are_there(module):
    shown, there = public_names(module), importlib.import_module(module)
    assert [name for name in shown if not hasattr(there, name)] == []
    assert len(shown) == len(set(shown))


@pytest.mark.parametrize("module", [name for name in PATHS if PATHS[name].stem == "__init__"])
def test_a_package_says_in_one_sentence_what_it_is_for(module):
    docstring = ast.get_docstring(ast.parse(PATHS[module].read_text())) or ""
    first = docstring.partition("\n\n")[0]
    assert re.fullmatch(r"[A-Z][^\n]+\.", first)
    assert not re.search(r"[.?!] ", first)


@pytest.mark.parametrize("package", LIGHT)
def test_a_low_package_is_light(package):
    code = f"import sys, course.{package}; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True).split()
    assert [name for name in HEAVY if name in loaded] == []


def test_importing_the_package_imports_no_package_but_the_core():
    code = "import sys, course; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True).split()
    packages_loaded = {package_of(name) for name in loaded if name.startswith("course.")}
    assert packages_loaded == {"course.core"}
    assert "torch" not in loaded


def test_no_file_of_code_is_longer_than_300_lines_or_wider_than_100_columns():
    wrong = []
    for path in CODE:
        lines = path.read_text().splitlines()
        if len(lines) > 300:
            wrong.append(f"{path.relative_to(ROOT)}: {len(lines)} lines")
        wide = [number for number, line in enumerate(lines, 1) if len(line) > 100]
        wrong += [f"{path.relative_to(ROOT)}:{number} is too wide" for number in wide]
    assert wrong == []


def test_ruff_holds_lines_to_100_columns():
    settings = (ROOT / "pyproject.toml").read_text()
    assert "\nline-length = 100\n" in settings and "E501" not in settings
