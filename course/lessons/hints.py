"""The fuller hints, one for each TODO of each exercise; `%hint` shows them on request."""

import re
from pathlib import Path

FILE = "hints.md"  # next to the lessons
EXERCISE = re.compile(r"^## (\w+)$", re.MULTILINE)
ITEM = re.compile(r"^\d+\. ", re.MULTILINE)


def read(root: Path) -> dict[str, list[str]]:
    """The hints of the course below `root`: for each exercise, the Markdown for its TODOs in order.

    Empty if the course has no file of hints.
    """
    path = root / "course" / "lessons" / FILE
    if not path.is_file():  # a course without exercises needs no hints
        return {}
    _, *parts = EXERCISE.split(path.read_text(encoding="utf-8"))
    return {
        name: [" ".join(hint.split()) for hint in ITEM.split(text)[1:]]
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }
