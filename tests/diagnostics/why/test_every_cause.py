"""Every cause registers itself, and is found in a planted script."""

import ast
from pathlib import Path

import pytest
from support.why_runs import PLANTED

from course.diagnostics.why import detectors
from course.diagnostics.why.cause import Cause

HERE = Path(__file__).parent


def on_a_gpu() -> dict[str, tuple]:
    """The table FOUND of test_on_an_h200.py."""
    for node in ast.parse((HERE / "test_on_an_h200.py").read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "FOUND":
            return ast.literal_eval(node.value)
    raise AssertionError("test_on_an_h200.py has no FOUND")


def test_a_planted_script_names_every_cause() -> None:
    planted = {run.cause for run in PLANTED} | {cause for cause, _, _ in on_a_gpu().values()}
    assert sorted(planted) == [cause.name for cause in detectors.ALL]  # as `--help` lists them


def test_every_file_of_detectors_registers_some() -> None:
    files = {path.stem for path in Path(detectors.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == {detector.__module__.rpartition(".")[2] for detector in detectors.DETECTORS}


@pytest.mark.parametrize("detector", detectors.DETECTORS, ids=lambda detector: detector.info.name)
def test_a_cause_has_a_cure(detector: type[Cause]) -> None:
    assert detector.info.cure or detector.cure is not Cause.cure
