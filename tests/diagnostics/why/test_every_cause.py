"""Every cause registers itself, and is found in a planted script."""

from pathlib import Path

import pytest
from support.why_runs import ON_A_GPU, PLANTED

from course.diagnostics.why import detectors
from course.diagnostics.why.cause import Cause


def test_a_planted_script_names_every_cause() -> None:
    planted = {run.cause for run in PLANTED} | {cause for cause, _, _ in ON_A_GPU.values()}
    assert sorted(planted) == [cause.name for cause in detectors.ALL]  # as `--help` lists them


def test_every_file_of_detectors_registers_some() -> None:
    files = {path.stem for path in Path(detectors.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == {detector.__module__.rpartition(".")[2] for detector in detectors.DETECTORS}


@pytest.mark.parametrize("detector", detectors.DETECTORS, ids=lambda detector: detector.info.name)
def test_a_cause_has_a_cure(detector: type[Cause]) -> None:
    assert detector.info.cure or detector.cure is not Cause.cure
