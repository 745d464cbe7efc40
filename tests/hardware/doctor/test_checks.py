"""The checks of the doctor all together: none left out, with the bounds of the project."""

import tomllib

from packaging.requirements import Requirement

from course.core.files import ROOT
from course.core.installed import PACKAGE
from course.hardware.doctor import CHECKS, check_gpus, check_machine, check_software
from course.hardware.doctor.requirements import PACKAGES, PYTHON, UNTRIED_TORCH


def test_every_check_is_listed_once():
    written = [
        name
        for module in (check_software, check_gpus, check_machine)
        for name, value in vars(module).items()
        if not name.startswith("_") and "facts" in getattr(value, "__annotations__", {})
    ]
    assert sorted(written) == sorted(check.__name__ for check in CHECKS)


def test_bounds_are_those_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [Requirement(line) for line in project["dependencies"]]
    bounds = {
        (need.name, spec.operator): spec.version for need in needed for spec in need.specifier
    }
    assert {need.name: bounds[need.name, ">="] for need in needed} == PACKAGES
    assert bounds["torch", "<"] == UNTRIED_TORCH
    assert project["requires-python"] == ">=" + ".".join(map(str, PYTHON))
    assert project["name"] == PACKAGE
