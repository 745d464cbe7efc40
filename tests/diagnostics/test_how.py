"""Each page `how.md` lists all thresholds of its tool with their values, and each one is used."""

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
ROW = re.compile(r"^\| ((?:`[A-Z_\d]+`(?:, )?)+) \| ([^|]+) \|", re.MULTILINE)
NUMBER = re.compile(r"(half|twice|\d[\d.e-]*)(?: (%|ms|[KM]iB))?")
WORDS = {"half": 0.5, "twice": 2.0}
UNITS = {"": 1.0, "%": 0.01, "ms": 1e-3, "KiB": 2.0**10, "MiB": 2.0**20}


def names(package: str) -> list[str]:
    """The thresholds of a package, in alphabetical order."""
    return sorted(name for name in THRESHOLDS[package] if name.isupper())


def values(cell: str) -> list[float]:
    """The numbers in a cell, such as "15 % of a step" or "128 KiB", in the units of the code."""
    return [
        (WORDS.get(number) or float(number)) * UNITS[unit] for number, unit in NUMBER.findall(cell)
    ]


def code(folder: Path) -> str:
    """The code in a folder, without the files of thresholds."""
    files = (path for path in folder.rglob("*.py") if path.stem != "thresholds")
    return "\n".join(path.read_text() for path in files)


@pytest.mark.parametrize("package", THRESHOLDS)
def test_the_table_has_every_threshold_with_its_value(package: str) -> None:
    rows = ROW.findall((OWN / package / "how.md").read_text())
    table = [(re.findall(r"[A-Z_\d]+", cell), values(value)) for cell, value in rows]
    assert sorted(name for row, _ in table for name in row) == names(package)
    for row, shown in table:
        assert shown == pytest.approx([THRESHOLDS[package][name] for name in row]), row


@pytest.mark.parametrize("package", THRESHOLDS)
def test_every_threshold_is_used(package: str) -> None:
    words = set(re.findall(r"\w+", code(OWN)))
    assert [name for name in names(package) if name not in words] == []


def test_no_threshold_of_why_stands_elsewhere() -> None:
    numbers = re.findall(r"^([A-Z_]+) = [\d.]", code(OWN / "why"), re.MULTILINE)
    assert set(numbers) <= {"USUAL_CAP"}  # of torch
