"""The checks of the doctor all together: none left out, with the bounds of the project."""

import tomllib

from packaging.requirements import Requirement

from course.core.files import ROOT
from course.core.installed import PACKAGE
from course.hardware.doctor import CHECKS, check_gpus, check_machine, check_software
from course.hardware.doctor.facts import Facts
from course.hardware.doctor.requirements import PACKAGES, PYTHON, UNTRIED_TORCH

PYPROJECT = ROOT / "pyproject.toml"


def test_no_check_is_left_out():
    written = {
        function
        for module in (check_software, check_gpus, check_machine)
        for function in vars(module).values()
        if callable(function) and getattr(function, "__annotations__", {}).get("facts") is Facts
    }
    assert {f for f in written if not f.__name__.startswith("_")} == set(CHECKS)


def test_no_two_checks_have_one_name():
    names = [check.__name__ for check in CHECKS]
    assert len(names) == len(set(names))


def test_bounds_are_those_of_the_project():
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    needed = [Requirement(line) for line in project["dependencies"]]
    bounds = {
        (need.name, spec.operator): spec.version for need in needed for spec in need.specifier
    }
    assert {need.name: bounds[need.name, ">="] for need in needed} == PACKAGES
    assert bounds["torch", "<"] == UNTRIED_TORCH
    assert project["requires-python"] == ">=" + ".".join(map(str, PYTHON))
    assert project["name"] == PACKAGE
