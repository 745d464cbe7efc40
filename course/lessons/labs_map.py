"""Draw the labs as a map: a box for each lab, in order, which names the labs it builds on.

There are no lines between the boxes, because too many of them would cross.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from course.core import words
from course.drawing import palette, svg
from course.lessons.lesson import CORE, Lesson

PASSED, BEGUN = "passed", "begun"  # states of an exercise; any other exercise is open
COLUMNS = 4
GAP = 12  # between two boxes, in pixels
TOP = 114
BOX_WIDTH = (svg.WIDTH - 2 * svg.MARGIN - (COLUMNS - 1) * GAP) / COLUMNS  # of a lab's box
BOX_HEIGHT = 60
STRIPE = 5  # on the left of a core lab
SPELLINGS = {"all reduce": "all-reduce", "ddp": "DDP", "fsdp": "FSDP", "horovod": "Horovod"}
LEGEND = (
    ("dot", palette.GOOD, "an exercise that passed"),
    ("ring", palette.GOOD, "one that you have begun"),
    ("ring", palette.RULE, "one that is open"),
    ("solid", palette.rank_colour(0), "the core"),
)


def draw(
    labs: Sequence[Lesson],
    states: Mapping[str, str] | None = None,
    following: str = "",
    page: Callable[[Lesson], str] | None = None,
) -> svg.Picture:
    """Draw the map of `labs`.

    `states` has the state of each exercise by name, and `following` is the number of the lab to
    continue with. If `page` returns the address of a lab's page, each box is a link and does not
    show exercises.
    """
    states = states or {}
    parts = [svg.legend(svg.MARGIN, 84, LEGEND[-1:] if page else LEGEND)]
    by_number = {lab.number: lab for lab in labs}
    for at, lab in enumerate(labs):
        x, y = _corner(at)
        box = _box(lab, x, y, states, lab.number == following, dots=not page)
        box.append(_needs(_direct_needs(lab, by_number), x, y))
        parts += (
            [svg.element("a", *box, href=page(lab), aria_label=_link_label(lab))] if page else box
        )
    exercises = [name for lab in labs for name in lab.exercises]
    passed = sum(states.get(name) == PASSED for name in exercises)
    title = f"{len(labs)} labs: {passed} of {len(exercises)} exercises have passed"
    return svg.card(
        _corner(len(labs) - 1)[1] + BOX_HEIGHT + 24,
        title if states else f"{len(labs)} labs, and what builds on what",
        parts,
        subtitle=f"The core takes {_hours(labs, core=True)}, all of them {_hours(labs)}",
        alt=" ".join(_alt_text(lab, states) for lab in labs),
    )


def _hours(labs: Sequence[Lesson], core: bool = False) -> str:
    minutes = sum(lab.minutes for lab in labs if lab.number in CORE or not core)
    return words.long_duration(60 * minutes)


def _direct_needs(lab: Lesson, by_number: Mapping[str, Lesson]) -> list[str]:
    """The labs that a lab builds on, without those that another of them already needs."""
    implied = {old for number in lab.needs for old in _all_needs(by_number[number], by_number)}
    return [number for number in lab.needs if number not in implied]


def _all_needs(lab: Lesson, by_number: Mapping[str, Lesson]) -> set[str]:
    return set(lab.needs).union(*(_all_needs(by_number[number], by_number) for number in lab.needs))


def _corner(at: int) -> tuple[float, float]:
    """The upper left corner of box `at` (from 0), in pixels."""
    row, column = divmod(at, COLUMNS)
    return svg.MARGIN + column * (BOX_WIDTH + GAP), TOP + row * (BOX_HEIGHT + GAP)


def _needs(numbers: list[str], x: float, y: float) -> str:
    after = f"after {', '.join(numbers)}" if numbers else "begin here"
    return svg.text(
        x + BOX_WIDTH - 8, y + BOX_HEIGHT - 7, after, size=11, anchor="end", colour=palette.MUTED
    )


def _box(
    lab: Lesson,
    x: float,
    y: float,
    states: Mapping[str, str],
    following: bool,
    dots: bool,
) -> list[str]:
    done = all(states.get(name) == PASSED for name in lab.exercises)
    fill = palette.tint(palette.GOOD, 0.88) if done else palette.CARD
    colour, width = (palette.rank_colour(0), 2.5) if following else (palette.MUTED, 1)
    parts = [svg.rect(x, y, BOX_WIDTH, BOX_HEIGHT, fill, stroke=colour, stroke_width=width, rx=5)]
    if lab.number in CORE:
        parts.append(svg.rect(x, y + 5, STRIPE, BOX_HEIGHT - 10, palette.rank_colour(0)))
    parts += [
        svg.text(x + 12, y + 18, lab.number, size=13, bold=True),
        svg.text(
            x + BOX_WIDTH - 8,
            y + 18,
            _minutes(lab, following),
            size=11,
            anchor="end",
            colour=colour if following else palette.MUTED,
            bold=following,
        ),
        svg.text(x + 12, y + 35, _name(lab)),
    ]
    for at, name in enumerate(lab.exercises if dots else []):
        parts.append(_dot(x + 16 + 12 * at, y + BOX_HEIGHT - 11, states.get(name)))
    return parts


def _minutes(lab: Lesson, following: bool) -> str:
    return f"go on here · {lab.minutes} min" if following else f"{lab.minutes} min"


def _dot(x: float, y: float, state: str | None) -> str:
    colour = palette.GOOD if state else palette.RULE
    fill = palette.GOOD if state == PASSED else palette.CARD
    return svg.circle(x, y, 3.5, fill, stroke=colour, stroke_width=2)


def _name(lab: Lesson) -> str:
    """The words of a lab's file name in their usual spelling, such as 'all-reduce' or 'FSDP'."""
    name = lab.name.partition("_")[2].replace("_", " ")
    for word, spelling in SPELLINGS.items():
        name = re.sub(rf"\b{word}\b", spelling, name)
    return name


def _link_label(lab: Lesson) -> str:
    return f"{lab.number} · {lab.title} {lab.minutes} minutes"


def _alt_text(lab: Lesson, states: Mapping[str, str]) -> str:
    passed = sum(states.get(name) == PASSED for name in lab.exercises)
    core = ", of the core" if lab.number in CORE else ""
    builds_on = f"builds on {', '.join(lab.needs)}" if lab.needs else "needs no other lab"
    count = words.plural(len(lab.exercises), "exercise")
    takes = f"{lab.minutes} minutes, {builds_on}, {passed} of {count} passed"
    return f"Lab {lab.number}{core}, {_name(lab)}: {takes}."
