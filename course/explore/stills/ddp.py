"""Two pictures of DDP: what its constructor does, and one step on two ranks."""

from course.drawing import Section, Span, lanes, palette, svg

# A small step, in ms, of two ranks, the second a little slower: four layers in three buckets.
FORWARD_MS, LAYER_MS, OPTIMIZER_MS = 14.0, 7.0, 6.0
TIME_FACTORS = (1.0, 1.15)
BUCKETS = (((4, 3), 6.0), ((2,), 5.0), ((1,), 5.0))  # (layers, ms of the all-reduce)

# Four sets of "weights", as random as four unseeded ranks would draw them.
WEIGHTS = (
    (0.55, 0.90, 0.35, 0.70, 0.25, 0.80),
    (0.85, 0.30, 0.60, 0.20, 0.75, 0.45),
    (0.25, 0.65, 0.95, 0.50, 0.40, 0.15),
    (0.70, 0.45, 0.15, 0.85, 0.60, 0.95),
)


def step() -> svg.Picture:
    """Draw one step of two ranks: forward, backward with all-reduces alongside, equal updates."""
    transfers, free = [], 0.0
    for layers, duration in BUCKETS:
        computed_ms = FORWARD_MS + LAYER_MS * (5 - min(layers))
        start = max(free, *(computed_ms * factor for factor in TIME_FACTORS))
        free = start + duration
        transfers.append(Span(start, free, "comm", " + ".join(map(str, layers))))
    ranks = {
        rank: [*_computing(factor, free), *transfers] for rank, factor in enumerate(TIME_FACTORS)
    }
    return lanes.draw(
        [Section("", ranks)],
        "Gradients travel while earlier layers are still computed",
        "One step of DDP. Layers 4 + 3 share a bucket; "
        "its all-reduce begins when the slower rank has both gradients",
        "Two ranks over time. Each computes forward, then backward from layer 4 to layer 1. "
        "Three all-reduces, the same on both ranks, begin when both have the gradients; "
        "two of them run during backward. Both then step.",
    )


def _computing(factor: float, averaged_ms: float) -> list[Span]:
    """The spans of a rank's computing; all gradients are averaged at `averaged_ms`."""
    begin = FORWARD_MS * factor
    spans = [Span(0, begin, "forward", "forward")]
    for layer in (4, 3, 2, 1):
        spans.append(Span(begin, begin + LAYER_MS * factor, "backward", f"layer {layer}"))
        begin = spans[-1].end
    return [
        *spans,
        Span(begin, averaged_ms, "wait", "wait"),
        Span(averaged_ms, averaged_ms + OPTIMIZER_MS, "optimizer", "step"),
    ]


def constructor() -> svg.Picture:
    """Draw DDP's constructor: the weights of rank 0 arrive at every rank."""
    width, height, first, apart = 200, 52, 106, 70
    before, after = 104, svg.WIDTH - svg.MARGIN - width
    between = (before + width + after) / 2
    parts = [
        svg.text(before + width / 2, 88, "model", anchor="middle", bold=True, size=13),
        svg.text(after + width / 2, 88, "DDP(model)", anchor="middle", bold=True, size=13),
        svg.text(between, first + 16, "broadcast", anchor="middle", colour=palette.MUTED),
    ]
    start = (before + width + 6, first + height / 2)
    for rank, weights in enumerate(WEIGHTS):
        y, colour = first + rank * apart, palette.rank_colour(rank)
        name, style = f"Rank {rank}", {"anchor": "end", "bold": True, "colour": colour}
        parts.append(svg.text(before - 16, y + height / 2 + 4, name, **style))
        shade = palette.tint(colour, 0.55) if rank else colour  # faded: about to be overwritten
        parts += _weights(before, y, width, height, weights, shade)
        parts += _weights(after, y, width, height, WEIGHTS[0], palette.rank_colour(0))
        parts.append(svg.arrow(*start, after - 6, y + height / 2, colour=palette.rank_colour(0)))
    return svg.card(
        first + 4 * apart + 12,
        "The constructor copies rank 0's weights to every rank, once",
        parts,
        subtitle="After that no weights travel: "
        "equal weights and equal averaged gradients stay equal",
        alt="Left, four ranks with different weights. Arrows lead from rank 0 to all four ranks "
        "on the right, which now hold rank 0's weights.",
    )


def _weights(
    x: float,
    y: float,
    width: float,
    height: float,
    weights: tuple[float, ...],
    shade: str,
) -> list[str]:
    """Draw weights as bars in a box."""
    parts = [svg.rect(x, y, width, height, palette.CARD, stroke=shade, stroke_width=1.5, rx=5)]
    slot = (width - 24) / len(weights)
    for i, weight in enumerate(weights):
        bar_height = weight * (height - 14)
        parts.append(
            svg.rect(
                x + 12 + i * slot + 3, y + height - 6 - bar_height, slot - 6, bar_height, shade
            )
        )
    return parts
