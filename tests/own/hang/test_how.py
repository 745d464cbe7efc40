"""The page that says how `run` decides has all its numbers, and each threshold is used."""

import re
from pathlib import Path

from course.own.hang import thresholds
from course.own.watch import thresholds as of_snapshots

ROOM = Path(thresholds.__file__).parent
NAMES = {name for name in vars(thresholds) | vars(of_snapshots) if name.isupper()}


def test_the_table_has_every_threshold() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \|", (ROOM / "how.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(NAMES)


def test_every_threshold_is_used() -> None:
    files = [path for path in ROOM.parent.rglob("*.py") if path.stem != "thresholds"]
    code = " ".join(path.read_text() for path in files)
    assert [name for name in sorted(NAMES) if not re.search(rf"\b{name}\b", code)] == []
