"""The page that says how `why` decides has all its numbers, and each threshold is used."""

import re
from pathlib import Path

from course.own.slow import thresholds

ROOM = Path(thresholds.__file__).parent
NAMES = {name for name in vars(thresholds) if name.isupper()}


def test_the_table_has_every_threshold() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \|", (ROOM / "how.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(NAMES)


def test_every_threshold_is_used() -> None:
    code = " ".join(
        path.read_text() for path in ROOM.parent.rglob("*.py") if path.stem != "thresholds"
    )
    assert [name for name in sorted(NAMES) if not re.search(rf"\b{name}\b", code)] == []


def test_no_threshold_stands_elsewhere() -> None:
    numbers = re.compile(r"^([A-Z_]+) = [\d.]", re.MULTILINE)
    elsewhere = {
        name
        for path in ROOM.rglob("*.py")
        if path.stem != "thresholds"
        for name in numbers.findall(path.read_text())
    }
    assert elsewhere <= {"USUAL_CAP"}  # of torch
