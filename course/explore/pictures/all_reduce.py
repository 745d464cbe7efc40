"""The picture of two all-reduces side by side: the messages, and the resulting sums."""

import math
from itertools import pairwise

from course.core import words
from course.drawing import palette, svg, touch
from course.explore.controls import COARSE, Choice, Slider, Steps
from course.explore.factory import Description, explorable
from course.explore.models import all_reduce as model
from course.explore.models.alpha_beta import AlphaBeta

HALF = 340  # width of one algorithm in pixels
STARTS = (svg.MARGIN, svg.WIDTH - svg.MARGIN - HALF)  # the left edge of each
HEADING_Y, RING_Y, RADIUS, NODE = 86, 206, 82, 15
STRETCH = 1.7  # how far the circle of the ranks is stretched sideways
MATRIX_Y = 332
NAME_WIDTH = 58  # width of a rank's name, left of its chunks
GREY = palette.MUTED


def draw(
    left: str, right: str, ranks: int, size: float, latency: float, bandwidth: float, step: int
) -> svg.Picture:
    """Draw one state of the explorable; `size` in MB, `latency` in µs, `bandwidth` in GB/s."""
    network = AlphaBeta.of(latency, bandwidth)
    plans = [model.plan(name, ranks) for name in (left, right)]
    clocks = [plan.clock(network, size * 1e6) for plan in plans]
    row = min(26.0, 150 / ranks)
    lanes_y = MATRIX_Y + ranks * row + 76
    parts = []
    for plan, clock, x in zip(plans, clocks, STARTS, strict=True):
        at = min(step, plan.messages)
        parts += [*_heading(plan, at, x), *_circle(plan, at, x), *_matrix(plan, at, x, row)]
        parts += _progress(plan, at, clock, size, x, MATRIX_Y + ranks * row + 22)
    middle = svg.WIDTH / 2
    parts.append(svg.line(middle, HEADING_Y - 12, middle, lanes_y - 40))
    parts += _lanes(plans, clocks, step, lanes_y)
    return svg.card(
        lanes_y + 112,
        _title(plans, clocks),
        parts,
        subtitle=f"{ranks} ranks, {words.significant(size)} MB; "
        f"a message costs {words.significant(latency)} µs, "
        f"and each of its bytes {words.significant(1 / bandwidth)} ns",
        alt=" ".join(_state(plan, min(step, plan.messages)) for plan in plans),
        touch="Click a round, below on the time axis, to see what each rank holds after it.",
    )


def _title(plans: list[model.Plan], clocks: list[list[float]]) -> str:
    (short, fast), (long, slow) = sorted(
        ((clock[-1], plan.name) for plan, clock in zip(plans, clocks, strict=True)),
        key=lambda pair: pair[0],
    )
    if long >= short * 1.005:
        times = f"{words.significant(long / short)} times"
        both = f"{fast.capitalize()} {words.duration(short)}, {slow} {words.duration(long)}"
        return f"{both}: {times}"
    title = f"{fast.capitalize()}: {words.duration(short)}"
    return f"{title}, and so is {slow}" if slow != fast else title


def _state(plan: model.Plan, step: int) -> str:
    """Describe the state in words."""
    rounds = words.plural(plan.messages, "round")
    after = f"{plan.name.capitalize()} after {step} of {rounds}"
    return f"{after}: {_complete(plan, step)} sums complete."


def _complete(plan: model.Plan, step: int) -> str:
    """Say how many of the sums are complete."""
    complete = sum(len(held) == plan.ranks for row in plan.held(step) for held in row)
    return f"{complete} of {plan.ranks * plan.chunks}"


def _heading(plan: model.Plan, step: int, x: float) -> list[str]:
    if step == 0:
        phase = "every rank has its numbers"
    elif step == plan.messages:
        phase = "done"
    else:
        phase = f"round {step} of {plan.messages}: {plan.rounds[step - 1].phase}"
    return [
        svg.text(x, HEADING_Y, plan.name.capitalize(), bold=True, size=14),
        svg.text(x + HALF, HEADING_Y, phase, colour=GREY, anchor="end"),
    ]


def _place(rank: int, ranks: int, x: float) -> tuple[float, float]:
    """The position of a rank on its ellipse, with rank 0 at the top."""
    angle = 2 * math.pi * rank / ranks
    return x + HALF / 2 + STRETCH * RADIUS * math.sin(angle), RING_Y - RADIUS * math.cos(angle)


def _circle(plan: model.Plan, step: int, x: float) -> list[str]:
    """Draw the ranks, and the messages of the round that has just ended."""
    sends = plan.rounds[step - 1].sends if step else ()
    nodes = [_place(rank, plan.ranks, x) for rank in range(plan.ranks)]
    pairs = {(send.target, send.source) for send in sends}
    arrows, labels = [], []
    taken = [(cx, cy, NODE + 2, NODE + 2) for cx, cy in nodes]  # no label may cover these
    for send in sends:
        # Two arrows between partners run side by side.
        aside = 5 if (send.source, send.target) in pairs else 0
        start, end = svg.rim_to_rim(nodes[send.source], nodes[send.target], NODE + 3, aside)
        colour = palette.rank_colour(send.source)
        width = 1.2 + 2.8 * len(send.chunks) / plan.chunks
        arrows.append(svg.arrow(*start, *end, colour=colour, width=width))
        label = _part_name(send.chunks, plan.chunks)
        place = _label_place(start, end, svg.text_width(label, 11) / 2 + 3, taken)
        taken.append(place)
        labels += _label(label, place, colour)
    for rank, (cx, cy) in enumerate(nodes):
        ground = palette.rank_colour(rank)
        arrows.append(svg.circle(cx, cy, NODE, ground))
        style = {"anchor": "middle", "bold": True, "size": 13, "colour": palette.on(ground)}
        labels.append(svg.text(cx, cy + 4.5, str(rank), **style))
    return [*arrows, *labels]


Label = tuple[float, float, float, float]  # its middle (x, y), and half its width and height


def _label_place(start: svg.Spot, end: svg.Spot, half: float, taken: list[Label]) -> Label:
    """A place for a label on an arrow, as near to its middle as other labels allow."""
    for share in (0.45, 0.35, 0.55, 0.25, 0.65, 0.15, 0.75):
        x, y = (start[i] + share * (end[i] - start[i]) for i in (0, 1))
        if all(abs(x - a) >= half + w or abs(y - b) >= 8 + h for a, b, w, h in taken):
            break
    return x, y, half, 8


def _part_name(chunks: tuple[int, ...], of: int) -> str:
    """Name a part of the buffer, for the label of an arrow."""
    if len(chunks) == of:
        return "all"
    first, last = _letter(chunks[0]), _letter(chunks[-1])
    return first if first == last else f"{first}–{last}"


def _letter(chunk: int) -> str:
    return chr(ord("A") + chunk)


def _label(label: str, place: Label, colour: str) -> list[str]:
    x, y, half, height = place
    paper = (x - half, y - height, 2 * half, 2 * height - 1, palette.CARD)
    return [
        svg.rect(*paper, rx=4, stroke=colour, stroke_width=1),
        svg.text(x, y + 3.5, label, anchor="middle", size=11),
    ]


def _matrix(plan: model.Plan, step: int, x: float, row: float) -> list[str]:
    """Draw a row per rank and a column per chunk: a stripe for each rank whose number is in it."""
    held, width = plan.held(step), (HALF - NAME_WIDTH) / plan.chunks
    sends = plan.rounds[step - 1].sends if step else ()
    new = {(send.target, chunk) for send in sends for chunk in send.chunks}
    parts = []
    for chunk in range(plan.chunks):
        name = _letter(chunk) if plan.chunks > 1 else "all"
        middle = x + NAME_WIDTH + (chunk + 0.5) * width
        parts.append(svg.text(middle, MATRIX_Y - 7, name, anchor="middle", colour=GREY, size=11))
    for rank in range(plan.ranks):
        y, colour = MATRIX_Y + rank * row, palette.rank_colour(rank)
        parts.append(svg.text(x, y + row / 2 + 4, f"Rank {rank}", colour=colour, bold=True))
        for chunk in range(plan.chunks):
            box = (x + NAME_WIDTH + chunk * width, y, width, row)
            parts += _cell(held[rank][chunk], plan.ranks, box, (rank, chunk) in new)
    return parts


Box = tuple[float, float, float, float]  # left, top, width, height


def _cell(held: frozenset[int], ranks: int, box: Box, new: bool) -> list[str]:
    """Draw a chunk of a rank, framed in black if it has just arrived, in green if complete."""
    x, y, width, height = box[0] + 2, box[1] + 2, box[2] - 4, box[3] - 4
    complete, stripe = len(held) == ranks, width / ranks
    whose = ", ".join(map(str, sorted(held)))
    tip = "the complete sum" if complete else f"the numbers of rank {whose}"
    parts = [svg.rect(x, y, width, height, palette.WAIT, tip=tip)]
    for rank in sorted(held):
        colour = palette.rank_colour(rank)
        parts.append(svg.rect(x + rank * stripe, y, stripe, height, colour, pointer_events="none"))
    if new:
        parts.append(svg.rect(x, y, width, height, "none", stroke=palette.INK, stroke_width=2.5))
    elif complete:
        parts.append(svg.rect(x, y, width, height, "none", stroke=palette.GOOD, stroke_width=2))
    return parts


def _progress(
    plan: model.Plan, step: int, clock: list[float], size: float, x: float, y: float
) -> list[str]:
    """Write the complete sums, the bytes sent and the time, all so far."""
    most = max(plan.sent(step))
    sent = f"{words.significant(most * size, 3)} MB, {words.significant(most, 3)} × the buffer"
    return [
        svg.text(x, y, f"{_complete(plan, step)} sums complete", colour=GREY),
        svg.text(x + HALF, y, f"{words.duration(clock[step])} so far", anchor="end", bold=True),
        svg.text(x, y + 17, f"busiest rank has sent {sent}", colour=GREY),
    ]


def _lanes(plans: list[model.Plan], clocks: list[list[float]], step: int, y: float) -> list[str]:
    """Draw both algorithms' rounds on one time axis: hatched if over, pale if still to come."""
    left, width = 172, svg.WIDTH - svg.MARGIN - 172
    longest = max(clock[-1] for clock in clocks)
    unit, factor = words.time_unit(longest)
    parts = [svg.axis(left, y + 68, width, longest * factor, unit, rise=74)]
    for lane, (plan, clock) in enumerate(zip(plans, clocks, strict=True)):
        top_y = y + lane * 34
        parts.append(svg.text(left - 12, top_y + 17, plan.name.capitalize(), anchor="end"))
        for number, (start, end) in enumerate(pairwise(clock), start=1):
            x1, x2 = left + width * start / longest, left + width * end / longest
            shown = (x1, top_y, x2 - x1 - min(1.5, (x2 - x1) / 4), 26)
            tip = f"round {number}, {plan.rounds[number - 1].phase}: {words.duration(end - start)}"
            name = f"{plan.name.capitalize()}, round {number} of {plan.messages}"
            go = touch.button("step", number, f"Show {name}")
            if number <= step:
                parts.append(svg.hatched(*shown, palette.rank_colour(0), tip=tip, **go))
            else:
                parts.append(svg.rect(*shown, palette.WAIT, tip=tip, **go))
    return parts


@explorable
def all_reduce() -> Description:
    """Two all-reduces side by side, round by round, with their times under the α–β model."""
    names = tuple(model.ALGORITHMS)

    def pictures_of(values: dict[str, object]) -> int:
        """Count the pictures: one before the first round, one after each round of the longer."""
        plans = [model.plan(values[side], values["ranks"]) for side in ("left", "right")]
        return max(plan.messages for plan in plans) + 1

    return draw, {
        "left": Choice("Left", names, "reduce + broadcast"),
        "right": Choice("Right", names, "ring"),
        "ranks": Slider("Ranks", 2, 8, 4),
        "size": Slider("Buffer", 0.001, 1000, 1, step=COARSE, unit="MB", log=True),
        "latency": Slider("α, a message", 1, 1000, 20, step=COARSE, unit="µs", log=True),
        "bandwidth": Slider("1/β, bandwidth", 0.1, 400, 10, step=COARSE, unit="GB/s", log=True),
        "step": Steps("Round", pictures_of, 1),
    }
