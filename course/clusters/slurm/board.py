"""The board of a cluster: a row for each GPU over time, who holds it and until when; the queue's explorable uses it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from course.clusters.slurm import reasons
from course.clusters.slurm.records import Job, Node, Reservation
from course.drawing import palette, svg

LEFT = 92  # where time begins, in pixels
RIGHT = svg.WIDTH - svg.MARGIN
ROW, GAP = 15, 10  # of a GPU, and between nodes
MOST_ROWS = 64  # of a large cluster, the first
SHADES = (0.38, 0.52, 0.66)  # of others' jobs, so that neighbours differ
UNITS = (
    (60, "seconds from now", 1),
    (7200, "minutes from now", 60),
    (1e18, "hours from now", 3600),
)


@dataclass(frozen=True)
class Server:
    """A node on the board: `note` is why nothing runs there, "" if things do."""

    name: str
    gpus: int
    note: str = ""


@dataclass(frozen=True)
class Bar:
    """GPUs of one node, by index, taken from `start` to `end` in the board's unit (0 is now).

    `kind` is "held" (by a job that runs), "planned" (for one that waits) or "reserved"; `shade` counts others' jobs,
    None is yours.
    """

    node: str
    gpus: tuple[int, ...]
    start: float
    end: float
    label: str
    kind: str = "held"
    shade: int | None = 0
    tip: str = ""


def live(
    nodes: Sequence[Node], jobs: Sequence[Job], reservations: Sequence[Reservation], now: float,
    mine: int | None = None, note: str = "",
) -> svg.Picture:  # fmt: skip
    """The board of a real cluster at the time `now`; `note` says that it is a recording, if it is one."""
    running = [job for job in jobs if job.state == "RUNNING"]
    ends = [job.end - now for job in running] + [r.end - now for r in reservations] + [60.0]
    horizon = max(min(end, 7 * 86400) for end in ends)
    _, unit, size = next(row for row in UNITS if horizon <= row[0])
    bars = [
        Bar(name, gpus, 0, max(job.end - now, horizon / 200) / size, f"{job.user}: {job.name}",
            shade=None if job.id == mine else number, tip=f"job {job.id}, {reasons.when(job, now)}")
        for number, job in enumerate(running) for name, gpus in job.gpus.items()
    ]  # fmt: skip
    every = {node.name: tuple(range(node.gpus)) for node in nodes}
    bars += [
        Bar(name, every.get(name, ()), max(0, r.start - now) / size, (r.end - now) / size, f"reserved: {r.users}",
            "reserved", tip=r.name)
        for r in reservations for name in r.nodes if r.end > now
    ]  # fmt: skip
    servers = [
        Server(node.name, node.gpus, "" if node.up else node.reason or node.state.lower())
        for node in nodes
    ]
    held = sum(len(gpus) for job in running for gpus in job.gpus.values())
    total = sum(node.gpus for node in nodes if node.up)
    free = [job for job in sorted(running, key=lambda job: job.end) if job.gpus]
    soonest = (
        f"; the next come free {reasons.when(free[0], now)} at the latest" if free and held else ""
    )
    return draw(
        f"{held} of {total} GPUs are held{soonest}", servers, bars, horizon / size, unit, waiting(jobs, now),
        subtitle=note or "each row is a GPU; a bar ends where its job's time limit ends it",
    )  # fmt: skip


def waiting(jobs: Sequence[Job], now: float) -> list[str]:
    """A line for each job that waits."""
    lines = []
    for job in jobs:
        if job.state == "PENDING":
            start = f", to start {reasons.when(job, now)}" if job.start > now else ""
            size = f"{job.node_count} node{'s' * (job.node_count > 1)} × {job.gpus_per_node} GPUs"
            lines.append(f"waiting: {job.user}: {job.name}, {size}{start}; {reasons.why(job)}")
    return lines


def draw(
    title: str, servers: Sequence[Server], bars: Sequence[Bar], top: float, unit: str, lines: Sequence[str] = (),
    subtitle: str = "", extra: Callable[[float], Sequence[str]] | None = None, extra_height: float = 0,
) -> svg.Picture:  # fmt: skip
    """The board from now to `top` (in `unit`), `lines` of text below it, and what `extra` draws below those."""
    shown, rows = [], 0
    for server in servers:
        if rows + server.gpus <= MOST_ROWS:
            shown.append(server)
            rows += server.gpus
    parts, y, places = [], 78.0, {}
    for server in shown:
        places[server.name] = y
        parts += _server(server, y)
        y += server.gpus * ROW + GAP
    parts.append(svg.axis(LEFT, y, RIGHT - LEFT, top, unit, rise=y - 74))
    for bar in bars:
        if bar.node in places and bar.gpus:
            parts += _bar(bar, places[bar.node], top)
    y += 50
    if len(shown) < len(servers):
        lines = [f"and {len(servers) - len(shown)} more nodes", *lines]
    for line in lines:
        parts.append(svg.text(svg.MARGIN, y, _fitting(line), colour=palette.MUTED))
        y += 18
    alt = "; ".join(
        f"{bar.label} {bar.kind} on {bar.node}, {len(bar.gpus)} GPUs, from {svg.significant(bar.start)} to "
        f"{svg.significant(bar.end)}" for bar in bars
    )  # fmt: skip
    parts += extra(y) if extra else []
    return svg.card(
        y + extra_height + 4, title, parts, subtitle=subtitle, alt=f"{alt or title} ({unit})."
    )


def _server(server: Server, y: float) -> list[str]:
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


def _bar(bar: Bar, y: float, top: float) -> list[str]:
    """One mark for each run of neighbouring GPUs, its label in the tallest that has room."""
    colour = _colour(bar)
    scale = (RIGHT - LEFT) / top
    x, width = LEFT + bar.start * scale, max(1.5, (min(bar.end, top) - bar.start) * scale - 1)
    parts, blocks = [], _blocks(bar.gpus)
    for first, count in blocks:
        place = (x, y + first * ROW, width, count * ROW - 2)
        if bar.kind == "held":
            parts.append(svg.rect(*place, colour, tip=bar.tip, rx=2))
        else:
            dash = "4 3" if bar.kind == "reserved" else None
            ground = palette.tint(colour, 0.78 if bar.kind == "planned" else 0.9)
            parts.append(
                svg.rect(
                    *place,
                    ground,
                    tip=bar.tip,
                    stroke=colour,
                    stroke_width=1.4,
                    stroke_dasharray=dash,
                    rx=2,
                )
            )
    first, count = max(blocks, key=lambda block: block[1])
    label = bar.label if svg.text_width(bar.label, 11) + 8 < width else bar.label.partition(":")[0]
    middle = y + first * ROW + (count * ROW - 2) / 2 + 4
    if svg.text_width(label, 11) + 6 < width:
        ink = palette.CARD if bar.kind == "held" else palette.INK
        parts.append(svg.text(x + 6, middle, label, size=11, colour=ink))
    elif bar.kind == "held":  # beside it, where nothing else is planned
        parts.append(svg.text(x + width + 4, middle, bar.label, size=11, colour=palette.MUTED))
    return parts


def _colour(bar: Bar) -> str:
    if bar.kind == "reserved":
        return palette.MUTED
    if bar.shade is None:
        return palette.rank_colour(0)
    return palette.tint(palette.INK, SHADES[bar.shade % len(SHADES)])


def _blocks(gpus: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of neighbours as (first, count): 0 1 3 is (0, 2), (3, 1)."""
    blocks: list[tuple[int, int]] = []
    for gpu in sorted(gpus):
        if blocks and sum(blocks[-1]) == gpu:
            blocks[-1] = (blocks[-1][0], blocks[-1][1] + 1)
        else:
            blocks.append((gpu, 1))
    return blocks


def _fitting(line: str) -> str:
    most = int((svg.WIDTH - 2 * svg.MARGIN) / 6.8)  # px, of an ordinary letter
    return line if len(line) <= most else line[: most - 1] + "…"
