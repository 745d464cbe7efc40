"""The GPUs of servers over time, one row per GPU: which job holds it, and until when."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from course.core import words
from course.drawing import palette, svg

LEFT = 92  # where time begins, in pixels
RIGHT = svg.WIDTH - svg.MARGIN
TOP = 78  # y of the first row
ROW, GAP = 15, 10  # height of a GPU's row; space between servers
LINE = 18  # height of a line of text below the rows
MOST_ROWS = 64  # servers that do not fit into these rows are only counted
SHADES = (0.38, 0.52, 0.66)  # for other people's jobs, so that neighbours differ


@dataclass(frozen=True)
class BoardServer:
    """A server on the board; `note` says why it is out of service, and is "" if it is not."""

    name: str
    gpus: int
    note: str = ""


@dataclass(frozen=True)
class Bar:
    """GPUs of one server, by index, that a job takes from `start` to `end` in the board's unit.

    Time 0 is now. `kind` is "held" for a running job, "planned" for a waiting one, or "reserved".
    `shade` numbers other people's jobs; None marks your own. `tip` appears under the pointer.
    """

    server: str
    gpus: tuple[int, ...]
    start: float
    end: float
    label: str
    kind: str = "held"
    shade: int | None = 0
    tip: str = ""


def draw(
    title: str,
    servers: Sequence[BoardServer],
    bars: Sequence[Bar],
    top: float,
    unit: str,
    lines: Sequence[str] = (),
    *,
    subtitle: str = "",
    extra: Callable[[float], Sequence[str]] | None = None,
    extra_height: float = 0,
) -> svg.Picture:
    """Draw the board from now to `top` (in `unit`), with `lines` of text below it.

    `extra` takes the y below these lines and returns further marks, `extra_height` pixels high.
    """
    shown = _first_rows(servers)
    if len(shown) < len(servers):
        lines = [f"and {len(servers) - len(shown)} more nodes", *lines]
    rows, tops, bottom = _rows(shown)
    drawn = [bar for bar in bars if bar.server in tops and bar.gpus]
    parts = [*rows, svg.axis(LEFT, bottom, RIGHT - LEFT, top, unit, rise=bottom - TOP + 4)]
    for bar in drawn:
        parts += _bar(bar, tops[bar.server], top)
    y = bottom + 50
    for line in lines:
        parts.append(svg.text(svg.MARGIN, y, _shorten(line), colour=palette.MUTED))
        y += LINE
    if extra:
        parts += extra(y)
    alt = f"{_alt_text(bars) or title} ({unit})."
    return svg.card(y + extra_height + 4, title, parts, subtitle=subtitle, alt=alt)


def _first_rows(servers: Sequence[BoardServer]) -> list[BoardServer]:
    """The servers whose GPUs fit on the board."""
    shown: list[BoardServer] = []
    rows = 0
    for server in servers:
        if rows + server.gpus <= MOST_ROWS:
            shown.append(server)
            rows += server.gpus
    return shown


def _rows(servers: Sequence[BoardServer]) -> tuple[list[str], dict[str, float], float]:
    """The empty rows, the y at which each server's rows begin, and the y below all rows."""
    parts: list[str] = []
    tops: dict[str, float] = {}
    y = float(TOP)
    for server in servers:
        tops[server.name] = y
        parts += _server(server, y)
        y += server.gpus * ROW + GAP
    return parts, tops, y


def _server(server: BoardServer, y: float) -> list[str]:
    parts = [svg.text(svg.MARGIN, y + 12, server.name, bold=True)]
    for gpu in range(server.gpus):
        top = y + gpu * ROW
        parts.append(svg.rect(LEFT, top, RIGHT - LEFT, ROW - 2, palette.tint(palette.WAIT, 0.45)))
        parts.append(
            svg.text(LEFT - 8, top + 11, str(gpu), size=10, colour=palette.MUTED, anchor="end")
        )
    if server.note:
        parts.append(svg.text(LEFT + 8, y + 12, f"out: {server.note}", colour=palette.ALARM))
    return parts


def _alt_text(bars: Sequence[Bar]) -> str:
    """Describe all bars in words, for the alt text."""
    return "; ".join(
        f"{bar.label} {bar.kind} on {bar.server}, {words.plural(len(bar.gpus), 'GPU')}, "
        f"from {words.significant(bar.start)} to {words.significant(bar.end)}"
        for bar in bars
    )


def _bar(bar: Bar, y: float, top: float) -> list[str]:
    """Draw one mark for each run of neighbouring GPUs, and the label in the tallest mark."""
    scale = (RIGHT - LEFT) / top
    x = LEFT + bar.start * scale
    width = max(1.5, (min(bar.end, top) - bar.start) * scale - 1)
    blocks = _blocks(bar.gpus)
    parts = [_mark(bar, x, y + first * ROW, width, count * ROW - 2) for first, count in blocks]
    first, count = max(blocks, key=lambda block: block[1])
    baseline = y + first * ROW + (count * ROW - 2) / 2 + 4
    return [*parts, *_label(bar, x, baseline, width)]


def _mark(bar: Bar, x: float, y: float, width: float, height: float) -> str:
    colour = _colour(bar)
    if bar.kind == "held":
        return svg.rect(x, y, width, height, colour, tip=bar.tip, rx=2)
    ground = palette.tint(colour, 0.78 if bar.kind == "planned" else 0.9)
    dash = "4 3" if bar.kind == "reserved" else None
    outline = {"stroke": colour, "stroke_width": 1.4, "stroke_dasharray": dash}
    return svg.rect(x, y, width, height, ground, tip=bar.tip, **outline, rx=2)


def _label(bar: Bar, x: float, baseline: float, width: float) -> list[str]:
    """Draw the label inside the bar, cut at its colon if it is too long.

    If even that does not fit, a running job gets its label next to the bar, any other job none.
    """
    label = bar.label if svg.text_width(bar.label, 11) + 8 < width else bar.label.partition(":")[0]
    if svg.text_width(label, 11) + 6 < width:
        ink = palette.on(_colour(bar)) if bar.kind == "held" else palette.INK
        return [svg.text(x + 6, baseline, label, size=11, colour=ink)]
    if bar.kind == "held":  # next to it, where nothing else is planned
        return [svg.text(x + width + 4, baseline, bar.label, size=11, colour=palette.MUTED)]
    return []


def _colour(bar: Bar) -> str:
    if bar.kind == "reserved":
        return palette.MUTED
    if bar.shade is None:
        return palette.rank_colour(0)
    return palette.tint(palette.INK, SHADES[bar.shade % len(SHADES)])


def _blocks(gpus: Sequence[int]) -> list[tuple[int, int]]:
    """The runs of neighbouring GPUs as (first, count): 0, 1, 3 give (0, 2), (3, 1)."""
    blocks: list[tuple[int, int]] = []
    for gpu in sorted(gpus):
        if blocks and sum(blocks[-1]) == gpu:
            blocks[-1] = (blocks[-1][0], blocks[-1][1] + 1)
        else:
            blocks.append((gpu, 1))
    return blocks


def _shorten(line: str) -> str:
    limit = int((svg.WIDTH - 2 * svg.MARGIN) / 6.8)  # px for an average letter
    return line if len(line) <= limit else line[: limit - 1] + "…"
