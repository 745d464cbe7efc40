"""The parts of the start notebook: the map of the labs, your progress, and where to continue.

All of it comes from the lessons, and from the files of `progress` in the folder ``src``.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from course.core import ROOT, words
from course.drawing import Picture
from course.lessons import CORE, Lesson, labs, labs_map
from course.notebook import progress
from course.notebook.store import SRC
from course.notebook.stuck import Prose

NBSP = "\N{NO-BREAK SPACE}"
MARKS = {labs_map.PASSED: "✓", labs_map.BEGUN: "◐", None: "○"}


@cache
def _labs() -> list[Lesson]:
    return labs(ROOT)


def picture(src: Path = SRC) -> Picture:
    """Draw the map of the labs, with the exercises that have passed or are begun."""
    states = _states(src)
    following = next_lab(states)
    return labs_map.draw(_labs(), states, following.number if states and following else "")


def table(src: Path = SRC) -> Prose:
    """A table with a row for each lab: its link, time and exercises, and the state of each."""
    states = _states(src)
    rows = ["| lab | the question | time | exercises |", "|---|---|---|---|"]
    for lab in _labs():
        exercises = " · ".join(f"{MARKS[states.get(name)]}{NBSP}`{name}`" for name in lab.exercises)
        core = f"{NBSP}●" if lab.number in CORE else ""
        link = f"[{lab.number}]({lab.name}.ipynb){core}"
        rows.append(f"| {link} | {lab.title} | {lab.minutes}{NBSP}min | {exercises} |")
    return Prose("\n".join(rows))


def go_on(src: Path = SRC) -> Prose:
    """A sentence on where to continue, with a link."""
    states = _states(src)
    lab = next_lab(states)
    if lab is None:
        return Prose(f"All {len(states)} exercises have passed. There is nothing left to write.")
    unfinished = [name for name in lab.exercises if states.get(name) != labs_map.PASSED]
    link = f"**[Lab {lab.number}: {lab.title}]({lab.name}.ipynb)**"
    begun = any(states.get(name) for name in lab.exercises)
    begin, first = ("Go on with", "next") if begun else ("Begin with", "first")
    return Prose(f"{begin} {link} Its {first} exercise is `{unfinished[0]}`.")


def next_lab(states: Mapping[str, str]) -> Lesson | None:
    """The lab to continue with; None if every exercise has passed.

    It is the first lab that the learner has begun and not finished. If there is none, it is the
    first unfinished lab of the core, and after the core the first unfinished lab.
    """
    passed = {name for name, state in states.items() if state == labs_map.PASSED}
    unfinished = [lab for lab in _labs() if not passed.issuperset(lab.exercises)]
    begun = [lab for lab in unfinished if states.keys() & set(lab.exercises)]
    core = [lab for lab in unfinished if lab.number in CORE]
    return next(iter([*begun, *core, *unfinished]), None)


def count() -> str:
    """The number of labs and exercises, and the time that they take together, as a phrase."""
    exercises = sum(len(lab.exercises) for lab in _labs())
    time = words.long_duration(60 * sum(lab.minutes for lab in _labs()))
    return f"{len(_labs())} labs with {exercises} exercises, {time} in all"


def _states(src: Path) -> dict[str, str]:
    """The states of the exercises that have a stored result, as `labs_map.draw` takes them."""
    records = (progress.read(name, src) for lab in _labs() for name in lab.exercises)
    return {
        record.exercise: labs_map.PASSED if record.passed_at else labs_map.BEGUN
        for record in records
        if record
    }
