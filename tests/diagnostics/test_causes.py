"""The causes that the tools can name have one form in all of them."""

from types import ModuleType

import pytest

from course.core import ROOT
from course.diagnostics.finding import CauseInfo
from course.diagnostics.right import causes as of_right
from course.diagnostics.run import causes as of_run
from course.diagnostics.why import detectors as of_why

LABS = ROOT / "course" / "lessons"
TOOLS = pytest.mark.parametrize("causes", [of_run, of_why, of_right], ids=["run", "why", "right"])


@TOOLS
def test_each_is_listed_once_and_has_a_name_of_its_own(causes: ModuleType) -> None:
    names = [cause.name for cause in causes.ALL]
    assert len(set(names)) == len(names)
    assert {cause for cause in vars(causes).values() if isinstance(cause, CauseInfo)} <= set(
        causes.ALL
    )


@TOOLS
def test_each_is_half_a_sentence_and_its_lab_is_there(causes: ModuleType) -> None:
    for cause in causes.ALL:
        assert cause.summary and not cause.summary.endswith("."), cause
        assert not cause.lab or list(LABS.glob(f"{cause.lab}_*.md")), cause
