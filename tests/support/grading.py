"""The submissions of a class, the command that grades them, and the files that it wrote."""

import csv
from pathlib import Path

from course.__main__ import main
from course.exercises import Outcome, Result

HALF = (
    Result("test_adds", "It adds.", Outcome.PASSED),
    Result("test_ends", "It ends.", Outcome.FAILED, "<no>"),
)


def hand_in(tmp_path: Path, **scripts: str) -> Path:
    """Write the submissions of a class: ``ada__ring="..."`` means that ada hands in `ring.py`."""
    for name, text in scripts.items():
        learner, _, script = name.partition("__")
        folder = tmp_path / "class" / learner
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{script}.py").write_text(text)
    return tmp_path / "class"


def run(folder: Path, *arguments: str) -> int:
    return main(["grade", str(folder), "--out", str(folder.parent / "out"), *arguments])


def table(folder: Path) -> dict[str, dict[str, str]]:
    """The rows of `grades.csv` by learner."""
    with (folder.parent / "out" / "grades.csv").open(newline="") as file:
        return {row["learner"]: row for row in csv.DictReader(file)}


def page(folder: Path, name: str = "index.html") -> str:
    return (folder.parent / "out" / name).read_text()
