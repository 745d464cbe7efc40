"""The labs as a map: what builds on what, how long each takes, which exercises have passed."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from course.core import words
from course.drawing import palette, svg

if TYPE_CHECKING:
    from course.lessons.lesson import Lesson

PASSED, BEGUN = "passed", "begun"  # states of an exercise; every other one is open
WIDE, HIGH, DOWN = 98, 58, 66  # of a lab's box, and from one to the next below, in pixels
TOP = 114
BESIDE = (svg.WIDTH - 2 * svg.MARGIN - WIDE) / 5  # from a column to the next: six of them fit
LETTERS = 15  # of a name, in one line of a box
WRITTEN = {"all reduce": "all-reduce", "ddp": "DDP", "fsdp": "FSDP", "horovod": "Horovod"}


def draw(
    labs: Sequence["Lesson"],
    states: Mapping[str, str] | None = None,
    following: str = "",
    page: Callable[["Lesson"], str] | None = None,
) -> svg.Picture:
    """The map of `labs`; `states` of exercises by name, `following` the lab to go on with.

    If `page` says where a lab's page is, its box is a link, and says nothing of exercises.
    """
    states = states or {}
    places = _places(labs)
    parts = [] if page else [svg.legend(svg.MARGIN, 84, LEGEND)]
    for lab in labs:
        for needed in _direct(lab, {one.number: one for one in labs}):
            parts.append(_path(places[needed], places[lab.number]))
    for lab in labs:
        box = _box(lab, places[lab.number], states, lab.number == following, dots=not page)
        parts += [svg.element("a", *box, href=page(lab), aria_label=_named(lab))] if page else box
    exercises = [name for lab in labs for name in lab.exercises]
    passed = sum(states.get(name) == PASSED for name in exercises)
    hours = words.long_duration(60 * sum(lab.minutes for lab in labs))
    title = f"{len(labs)} labs: {passed} of {len(exercises)} exercises have passed"
    return svg.card(
        max(y for _, y in places.values()) + HIGH + 24,
        title if states else f"{len(labs)} labs, and what builds on what",
        parts,
        subtitle=f"A line leads from a lab to those that build on it. All of them take {hours}",
        alt=" ".join(_told(lab, states) for lab in labs),
    )


LEGEND = (
    ("dot", palette.GOOD, "an exercise that passed"),
    ("ring", palette.GOOD, "one that you have begun"),
    ("ring", palette.RULE, "one that is open"),
)


def _direct(lab: "Lesson", by_number: Mapping[str, "Lesson"]) -> list[str]:
    """The labs that a lab builds on, without those that are needed for another of them anyway."""
    implied = {old for number in lab.needs for old in _all_needs(by_number[number], by_number)}
    return [number for number in lab.needs if number not in implied]


def _all_needs(lab: "Lesson", by_number: Mapping[str, "Lesson"]) -> set[str]:
    return set(lab.needs).union(*(_all_needs(by_number[one], by_number) for one in lab.needs))


def _places(labs: Sequence["Lesson"]) -> dict[str, tuple[float, float]]:
    """The upper left corner of each lab's box: a tree from left to right.

    A lab hangs on the last of the labs that it builds on, and stands beside the middle of what
    hangs on it.
    """
    by_number = {lab.number: lab for lab in labs}
    hangs_on = {lab.number: max(_direct(lab, by_number), default="") for lab in labs}
    places: dict[str, tuple[float, float]] = {}
    free_y = TOP

    def place(number: str, x: float) -> None:
        nonlocal free_y
        children = [one for one, on in hangs_on.items() if on == number]
        for child in children:
            place(child, x + BESIDE)
        if children:
            y = (places[children[0]][1] + places[children[-1]][1]) / 2
        else:
            y, free_y = free_y, free_y + DOWN
        places[number] = (x, y)

    for number, on in hangs_on.items():
        if not on:
            place(number, svg.MARGIN)
    return places


def _path(start: tuple[float, float], end: tuple[float, float]) -> str:
    """A line from the right side of a box, down or up, to the left side of another."""
    left, right = start[0] + WIDE, end[0]
    from_y, to_y, turn = start[1] + HIGH / 2, end[1] + HIGH / 2, end[0] - 12
    points = [(left, from_y), (turn, from_y), (turn, to_y), (right, to_y)]
    return svg.polyline(points, colour=palette.MUTED, width=1.2)


def _box(
    lab: "Lesson",
    place: tuple[float, float],
    states: Mapping[str, str],
    following: bool,
    dots: bool,
) -> list[str]:
    x, y = place
    done = all(states.get(name) == PASSED for name in lab.exercises)
    fill = palette.tint(palette.GOOD, 0.88) if done else palette.CARD
    colour, width = (palette.rank_colour(0), 2.5) if following else (palette.MUTED, 1)
    parts = [
        svg.rect(x, y, WIDE, HIGH, fill, stroke=colour, stroke_width=width, rx=5),
        svg.text(x + 8, y + 15, lab.number, bold=True),
        svg.text(
            x + WIDE - 7, y + 15, f"{lab.minutes} min", size=10, anchor="end", colour=palette.MUTED
        ),
    ]
    if following:
        parts.append(svg.text(x, y - 6, "go on here", size=10, bold=True, colour=colour))
    for row, line in enumerate(_lines(_name(lab))):
        parts.append(svg.text(x + 8, y + 28 + 12 * row, line, size=10.5))
    for at, name in enumerate(lab.exercises if dots else []):
        parts.append(_dot(x + 12 + 12 * at, y + HIGH - 9, states.get(name)))
    return parts


def _dot(x: float, y: float, state: str | None) -> str:
    colour = palette.GOOD if state else palette.RULE
    fill = palette.GOOD if state == PASSED else palette.CARD
    return svg.circle(x, y, 3.5, fill, stroke=colour, stroke_width=2)


def _name(lab: "Lesson") -> str:
    """The words of a lab's file name, as one writes them: 'distributed data parallel', 'FSDP'."""
    name = lab.name.partition("_")[2].replace("_", " ")
    for word, written in WRITTEN.items():
        name = re.sub(rf"\b{word}\b", written, name)
    return name


def _named(lab: "Lesson") -> str:
    return f"{lab.number} · {lab.title} {lab.minutes} minutes"


def _lines(name: str) -> list[str]:
    """A name in one line or in two."""
    if len(name) <= LETTERS:
        return [name]
    first, _, rest = name.partition(" ")
    return [first, rest]


def _told(lab: "Lesson", states: Mapping[str, str]) -> str:
    passed = sum(states.get(name) == PASSED for name in lab.exercises)
    on = f"builds on {', '.join(lab.needs)}" if lab.needs else "needs no other lab"
    of = words.plural(len(lab.exercises), "exercise")
    return f"Lab {lab.number}, {_name(lab)}: {lab.minutes} minutes, {on}, {passed} of {of} passed."
