"""The page on how a tool decides lists all its thresholds, and each threshold is used."""

import re
from pathlib import Path

import pytest

from course.core.files import ROOT
from course.diagnostics.right import thresholds as of_right
from course.diagnostics.run import thresholds as of_run
from course.diagnostics.watch import thresholds as of_snapshots
from course.diagnostics.why import thresholds as of_why

OWN = ROOT / "course" / "diagnostics"
THRESHOLDS = {
    "run": vars(of_run) | vars(of_snapshots),
    "right": vars(of_right),
    "why": vars(of_why),
}
ROW = re.compile(r"^\| ((?:`[A-Z_\d]+`(?:, )?)+) \|", re.MULTILINE)


def names(package: str) -> list[str]:
    """The thresholds of a package, in alphabetical order."""
    return sorted(name for name in THRESHOLDS[package] if name.isupper())


def code(folder: Path) -> str:
    """The code in a folder, without the files of thresholds."""
    files = (path for path in folder.rglob("*.py") if path.stem != "thresholds")
    return "\n".join(path.read_text() for path in files)


@pytest.mark.parametrize("package", THRESHOLDS)
def test_the_table_has_every_threshold(package: str) -> None:
    rows = ROW.findall((OWN / package / "how.md").read_text())
    assert sorted(re.findall(r"[A-Z_\d]+", " ".join(rows))) == names(package)


@pytest.mark.parametrize("package", THRESHOLDS)
def test_every_threshold_is_used(package: str) -> None:
    words = set(re.findall(r"\w+", code(OWN)))
    assert [name for name in names(package) if name not in words] == []


def test_no_threshold_of_why_stands_elsewhere() -> None:
    numbers = re.findall(r"^([A-Z_]+) = [\d.]", code(OWN / "why"), re.MULTILINE)
    assert set(numbers) <= {"USUAL_CAP"}  # of torch
