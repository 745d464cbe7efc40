"""The planted cause comes first in the answer to the recorded reports of real runs.

recorded/cpus: two and four ranks over Gloo, with torch 2.13 on two quiet cores, on
2026-11-28. tests/tools/measure_why.py records them again.
"""

import re
from pathlib import Path

import pytest
from support import why_runs
from support.why_runs import CURES, RECORDED, RIGHT, RUNS, Run

from course.core import ROOT
from course.diagnostics import WhyAnswer

HOW = ROOT / "course" / "diagnostics" / "run" / "how.md"  # test_terminal.py checks its answer


@pytest.fixture
def answer(tmp_path: Path) -> object:
    """A function that returns the answer of `why` to a recorded run."""
    return lambda run: why_runs.answer(run, tmp_path)


def test_every_run_is_recorded() -> None:
    assert {path.name for path in RECORDED.iterdir()} == {run.file for run in RUNS}


@pytest.mark.parametrize("run", [r for r in RUNS if r not in RIGHT], ids=lambda run: run.name)
def test_the_cause_is_found(answer: object, run: Run) -> None:
    result: WhyAnswer = answer(run)
    assert why_runs.is_right(run, result), str(result)


@pytest.mark.parametrize("run", RIGHT, ids=lambda run: run.name)
def test_nothing_is_found_in_a_right_script(answer: object, run: Run) -> None:
    result: WhyAnswer = answer(run)
    assert result.causes[0].name == "computing"
    assert [finding for finding in result.findings if not finding.note] == []


def test_the_readme_shows_real_answers(answer: object) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    run, why = (
        re.search(rf"^.*`{tool} -- .*\| (.*) \|$", readme, re.M)[1] for tool in ("run", "why")
    )
    assert run in " ".join(HOW.read_text(encoding="utf-8").split())
    workers = next(cure for cure in CURES if cure.name == "why/plants/short_epochs workers")
    assert why in " ".join(str(answer(workers)).split())
