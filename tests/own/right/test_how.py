"""The page that says how `right` decides has all its numbers, and each threshold is used."""

import re
from pathlib import Path

from course.own.right import thresholds

ROOM = Path(thresholds.__file__).parent
NAMES = {name for name in vars(thresholds) if name.isupper()}


def test_the_table_has_every_threshold() -> None:
    rows = re.findall(
        r"^\| ((?:`[A-Z_\d]+`(?:, )?)+) \|", (ROOM / "how.md").read_text(), re.MULTILINE
    )
    assert sorted(re.findall(r"[A-Z_\d]+", " ".join(rows))) == sorted(NAMES)


def test_every_threshold_is_used() -> None:
    modules = (path for path in ROOM.glob("*.py") if path.name != "thresholds.py")
    code = " ".join(path.read_text() for path in modules)
    assert [name for name in sorted(NAMES) if not re.search(rf"\b{name}\b", code)] == []
