"""The picture of tokens that travel to their experts, one of which may be overloaded."""

from course.core import words
from course.drawing import palette, svg
from course.explore.controls import Slider
from course.explore.factory import Description, explorable
from course.explore.models import experts as model

LEFT = 96  # where a rank's own tokens begin, in pixels
TOKEN, STEP = 13, 16  # size of a token, and from one token to the next
TOP = 112
BLOCK = 84  # from one rank to the next
ROW = 30  # from one expert of a rank to the next
EXPERTS = 430  # where a rank's experts begin, with their names
TAKEN = EXPERTS + 76  # the first token of an expert
PER_LINE = 6  # a rank's own tokens in one line
ALARM = 1.25  # times an even load: from here on, the title mentions the load


def draw(popular: float, factor: float) -> svg.Picture:
    """Draw one state of the explorable; `popular` in percent."""
    flow = model.flow(popular / 100, factor)
    marks = [
        ("solid", palette.rank_colour(0), "a token, in the color of its rank"),
        ("ring", palette.ALARM, "dropped"),
    ]
    body = [
        svg.legend(svg.MARGIN, 84, marks),
        *(part for rank in range(model.RANKS) for part in _streams(flow, rank)),
        *(part for rank in range(model.RANKS) for part in _own(flow, rank)),
        *(part for rank in range(model.RANKS) for part in _experts(flow, rank)),
    ]
    loads = ", ".join(f"rank {rank} computes {flow.computed(rank)}" for rank in range(model.RANKS))
    return svg.card(
        TOP + model.RANKS * BLOCK + 4,
        _title(flow),
        body,
        subtitle=f"The rank with the most rows takes {words.significant(flow.slowdown, 2)} times "
        "as long as with an even load, and all others wait for it",
        alt=f"{model.RANKS} ranks with {model.TOKENS} tokens and {model.EXPERTS_PER_RANK} experts "
        f"each. Of all tokens, {loads}; {flow.dropped} are dropped.",
    )


def _title(flow: model.Flow) -> str:
    rows = sum(flow.rows(rank, 0)[0] for rank in range(model.RANKS))
    total = model.RANKS * model.TOKENS
    if flow.dropped:
        share = 100 * flow.dropped / total
        return f"{words.plural(flow.dropped, 'token')} of {total}, {share:.0f} %, found no room"
    if flow.slowdown < ALARM:
        return "All experts get about as many tokens: no rank waits long"
    return f"Expert 0 gets {rows} of {total} tokens, and all ranks wait for it"


def _height(rank: int, expert: int) -> float:
    """The top of an expert's row; `expert` counts from 0 on its rank."""
    return TOP + rank * BLOCK + expert * ROW


def _own(flow: model.Flow, rank: int) -> list[str]:
    """Draw the tokens of a rank before they travel."""
    y, colour = TOP + rank * BLOCK, palette.rank_colour(rank)
    name = svg.text(LEFT - 14, y + 26, f"Rank {rank}", anchor="end", bold=True, colour=colour)
    parts = [name]
    for token, choice in enumerate(flow.chosen[rank]):
        line, column = divmod(token, PER_LINE)
        tip = f"chooses expert {choice}" + ("" if flow.kept[rank][token] else ", which is full")
        x = LEFT + column * STEP
        parts.append(svg.rect(x, y + 10 + line * STEP, TOKEN, TOKEN, colour, tip=tip))
    return parts


def _streams(flow: model.Flow, rank: int) -> list[str]:
    """Draw a line from a rank to each rank that gets its tokens; more tokens, thicker line."""
    parts, start = [], TOP + rank * BLOCK + 26
    begin = LEFT + PER_LINE * STEP + 8
    for to in range(model.RANKS):
        held = range(to * model.EXPERTS_PER_RANK, (to + 1) * model.EXPERTS_PER_RANK)
        if rows := sum(flow.rows(rank, expert)[0] for expert in held):
            end = TOP + to * BLOCK + 12 + 12 * rank
            paler = palette.tint(palette.rank_colour(rank), 0.35)
            parts.append(svg.arrow(begin, start, EXPERTS - 14, end, colour=paler, width=rows / 2.5))
    return parts


def _experts(flow: model.Flow, rank: int) -> list[str]:
    """Draw the experts of a rank, with the tokens that they take and those that they drop."""
    parts = []
    for place in range(model.EXPERTS_PER_RANK):
        expert, y = rank * model.EXPERTS_PER_RANK + place, _height(rank, place)
        taken = [
            sender for sender in range(model.RANKS) for _ in range(flow.rows(sender, expert)[0])
        ]
        lost = [
            sender for sender in range(model.RANKS) for _ in range(flow.rows(sender, expert)[1])
        ]
        colour = palette.rank_colour(rank)
        parts.append(svg.text(EXPERTS, y + 21, f"expert {expert}", bold=True, colour=colour))
        width = min(STEP, (svg.WIDTH - svg.MARGIN - TAKEN) / max(1, len(taken) + len(lost)))
        for at, sender in enumerate([*taken, *lost]):
            x, shade = TAKEN + at * width, palette.rank_colour(sender)
            size = min(TOKEN, width - svg.hair(width))
            if at < len(taken):
                parts.append(svg.rect(x, y + 10, size, TOKEN, shade, tip=f"of rank {sender}"))
            else:
                edge = {"stroke": palette.ALARM, "stroke_width": 1.5}
                tip = f"of rank {sender}, dropped"
                parts.append(svg.rect(x, y + 10, size, TOKEN, palette.CARD, tip=tip, **edge))
    return parts


@explorable
def experts() -> Description:
    """Tokens on four ranks choose among eight experts: make one popular, and limit its room."""
    return draw, {
        "popular": Slider("Popular expert 0 draws", 0, 75, 0, step=5, unit="%"),
        "factor": Slider("Capacity, times an even load", 1, 8, 8, step=0.25),
    }
