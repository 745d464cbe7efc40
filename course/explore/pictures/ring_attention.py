"""The picture of ring attention: the scores by the rank that computes them, and the rounds."""

from course.core import words
from course.drawing import palette, svg
from course.explore.controls import Choice, Slider
from course.explore.factory import Description, explorable
from course.explore.models import ring_attention as model

CAUSAL, WHOLE = "the tokens before it", "all tokens"
SIDE = 224  # of the square of scores, in pixels
LEFT, TOP = 84, 126
LANES_LEFT, LANES_RIGHT = 396, svg.WIDTH - svg.MARGIN
GAP = 0.25  # between two lanes, as a share of a row


def draw(order: str, ranks: int, sees: str, turn: int) -> svg.Picture:
    """Draw one state of the explorable; `turn` counts from 1."""
    turn, causal = turn - 1, sees == CAUSAL
    work = model.rounds(order, ranks, causal)
    blue = palette.rank_colour(0)
    body = [
        svg.text(LEFT, TOP - 14, "who computes which scores", colour=palette.MUTED),
        *_scores(order, ranks, causal, turn),
        svg.text(LANES_LEFT, TOP - 14, "when, and with whose keys", colour=palette.MUTED),
        *_lanes(work, turn),
        svg.text(LEFT + SIDE / 2, TOP + SIDE + 20, "keys →", anchor="middle"),
        svg.text(LEFT - 12, TOP + 14, "queries ↓", anchor="end"),
        svg.legend(
            LANES_LEFT,
            TOP + SIDE + 20,
            [
                ("solid", blue, "this round"),
                ("solid", palette.tint(blue, 0.7), "another"),
                ("solid", palette.WAIT, "idle"),
            ],
        ),
    ]
    idle = model.idle(work)
    long = _blocks(model.starts(work)[-1])
    return svg.card(
        TOP + SIDE + 40,
        _title(order, ranks, idle),
        body,
        subtitle=f"Each query sees {sees}; round {turn + 1} of {ranks}, {long} long in all",
        alt=f"{words.plural(ranks, 'rank')} hold a sequence, {order}. Over all rounds they compute "
        f"{', '.join(_blocks(sum(done)) for done in work)} of scores; "
        f"{100 * idle:.0f} % of their time is idle.",
    )


def _title(order: str, ranks: int, idle: float) -> str:
    if ranks == 1:
        return "One rank has nobody to pass its keys to"
    wait = f"{100 * idle:.0f} % of the ranks' time is idle" if idle > 1e-9 else "no rank is idle"
    return f"{order[0].upper()}{order[1:]}: {wait}"


def _blocks(count: float) -> str:
    return f"{words.significant(count)} block{'s' * (count != 1)}"


def _scores(order: str, ranks: int, causal: bool, turn: int) -> list[str]:
    """Draw the square of queries by keys, each part in the colour of the rank that computes it."""
    cell = SIDE / (2 * ranks)
    parts = [svg.rect(LEFT, TOP, SIDE, SIDE, palette.CARD, stroke=palette.RULE)]
    for rank in range(ranks):
        colour = palette.rank_colour(rank)
        for number in range(ranks):
            fill = colour if number == turn else palette.tint(colour, 0.7)
            whose = model.owner(rank, number, ranks)
            tip = f"rank {rank} in round {number + 1}, keys of rank {whose}"
            parts += [
                svg.rect(LEFT + key * cell, TOP + query * cell, cell - 1, cell - 1, fill, tip=tip)
                for query, key in model.squares(order, ranks, rank, number, causal)
            ]
    end = LEFT + SIDE
    return [*parts, svg.line(LEFT, TOP, end, TOP + SIDE, colour=palette.INK)] if causal else parts


def _lanes(work: list[list[float]], turn: int) -> list[str]:
    """Draw a lane for each rank, with a box for what it computes in each round."""
    ranks, times = len(work), model.starts(work)
    row, scale = SIDE / ranks, (LANES_RIGHT - LANES_LEFT) / times[-1]
    height = min(row * (1 - GAP), 32)
    parts = []
    for rank, done in enumerate(work):
        y, colour = TOP + rank * row, palette.rank_colour(rank)
        name = f"Rank {rank}"
        middle = y + height / 2 + 4
        parts += [
            svg.text(LANES_LEFT - 10, middle, name, anchor="end", bold=True, colour=colour),
            svg.rect(LANES_LEFT, y, LANES_RIGHT - LANES_LEFT, height, palette.WAIT),
        ]
        for number, blocks in enumerate(done):
            fill = colour if number == turn else palette.tint(colour, 0.7)
            x, width = LANES_LEFT + times[number] * scale, blocks * scale
            if not width:
                continue
            whose = str(model.owner(rank, number, ranks))
            parts.append(
                svg.rect(x, y, width - svg.hair(width), height, fill, tip=f"keys of {whose}")
            )
            label = svg.text(x + width / 2, middle, whose, anchor="middle", colour=palette.on(fill))
            parts.append(label)
    return parts


@explorable
def ring_attention() -> Description:
    """Attention of a split sequence: keys go round, and the causal mask leaves ranks idle."""
    return draw, {
        "order": Choice("Tokens of a rank", model.ORDERS, model.IN_ORDER),
        "ranks": Slider("Ranks", 1, 8, 4),
        "sees": Choice("A query sees", (CAUSAL, WHOLE), CAUSAL),
        "turn": Slider("Round", 1, 8, 1, most=lambda values: values["ranks"]),
    }
