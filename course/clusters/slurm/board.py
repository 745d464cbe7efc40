"""Draw the board of a cluster: which jobs hold its GPUs and until when, and which jobs wait."""

from collections.abc import Sequence

from course.clusters.slurm import reasons
from course.clusters.slurm.records import Job, Node, Reservation
from course.core import words
from course.drawing import Picture
from course.drawing import board as drawn

WEEK_S = 7 * 86400  # the board looks no further ahead
# The longest horizon in seconds that an axis suits, its label, and its unit in seconds.
AXES = (
    (60, "seconds from now", 1),
    (7200, "minutes from now", 60),
    (WEEK_S, "hours from now", 3600),
)


def live(
    nodes: Sequence[Node],
    jobs: Sequence[Job],
    reservations: Sequence[Reservation],
    now: float,
    *,
    mine: int | None = None,
    note: str = "",
) -> Picture:
    """Draw the board of a cluster at the time `now`, in seconds since the epoch.

    The job with the number `mine` stands out. A `note`, such as that this is a recording, replaces
    the subtitle.
    """
    running = [job for job in jobs if job.state == "RUNNING"]
    ends = [job.end - now for job in running] + [r.end - now for r in reservations]
    horizon = max([60.0, *(min(end, WEEK_S) for end in ends)])
    unit, unit_s = next((unit, unit_s) for most, unit, unit_s in AXES if horizon <= most)
    bars = [
        *_job_bars(running, now, horizon / 200, unit_s, mine),
        *_reservation_bars(reservations, nodes, now, unit_s),
    ]
    return drawn.draw(
        _title(nodes, running, now),
        [_server(node) for node in nodes],
        bars,
        horizon / unit_s,
        unit,
        waiting(jobs, now),
        subtitle=note or "each row is a GPU; a bar ends where its job's time limit ends it",
    )


def waiting(jobs: Sequence[Job], now: float) -> list[str]:
    """One line for each waiting job."""
    lines = []
    for job in jobs:
        if job.state == "PENDING":
            start = f", to start {reasons.when(job, now)}" if job.start > now else ""
            size = f"{words.plural(job.node_count, 'node')} × {job.gpus_per_node} GPUs"
            lines.append(f"waiting: {job.user}: {job.name}, {size}{start}; {reasons.why(job)}")
    return lines


def _job_bars(
    running: Sequence[Job], now: float, least_s: float, unit_s: float, mine: int | None
) -> list[drawn.Bar]:
    """Bars for the GPUs of running jobs, each at least `least_s` seconds long, to be visible."""
    return [
        drawn.Bar(
            name,
            gpus,
            0,
            max(job.end - now, least_s) / unit_s,
            f"{job.user}: {job.name}",
            shade=None if job.id == mine else number,
            tip=f"job {job.id}, {reasons.when(job, now)}",
        )
        for number, job in enumerate(running)
        for name, gpus in job.gpus.items()
    ]


def _reservation_bars(
    reservations: Sequence[Reservation], nodes: Sequence[Node], now: float, unit_s: float
) -> list[drawn.Bar]:
    """Bars for all GPUs of the reserved nodes."""
    every = {node.name: tuple(range(node.gpus)) for node in nodes}
    return [
        drawn.Bar(
            name,
            every.get(name, ()),
            max(0, reservation.start - now) / unit_s,
            (reservation.end - now) / unit_s,
            f"reserved: {reservation.users}",
            "reserved",
            tip=reservation.name,
        )
        for reservation in reservations
        for name in reservation.nodes
        if reservation.end > now
    ]


def _server(node: Node) -> drawn.BoardServer:
    note = "" if node.up else node.reason or node.state.lower()
    return drawn.BoardServer(node.name, node.gpus, note)


def _title(nodes: Sequence[Node], running: Sequence[Job], now: float) -> str:
    """The number of GPUs that are held, and the latest time when the next of them become free."""
    held = sum(len(gpus) for job in running for gpus in job.gpus.values())
    total = sum(node.gpus for node in nodes if node.up)
    title = f"{held} of {total} GPUs are held"
    if not held:
        return title
    first = min((job for job in running if job.gpus), key=lambda job: job.end)
    return f"{title}; the next come free {reasons.when(first, now)} at the latest"
