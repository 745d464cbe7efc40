"""Answer the page try_ring: a verdict on its source, and pictures of its ranks."""

import json
from dataclasses import asdict

from course.commands.web.ring import check, picture
from course.commands.web.ring.replay import Replay

MAX_DRAWN = 24  # rounds; a ring of four ranks has 6


def answer(source: str) -> str:
    """Judge a source, and return the verdicts and a picture of each round as JSON."""
    report = check.judge(source)
    verdicts = [asdict(verdict) for verdict in report.verdicts]
    return json.dumps({"passed": report.passed, "verdicts": verdicts} | _drawn(report.run))


def _drawn(run: Replay | None) -> dict[str, list]:
    """Pictures of the rounds, what the ranks printed, and the lines where ranks wait or failed."""
    if run is None:
        return {"pictures": [], "rounds": [], "printed": [], "marks": []}
    rounds = list(range(run.world.rounds + 1))
    if len(rounds) > MAX_DRAWN:
        rounds = [*rounds[: MAX_DRAWN - 1], rounds[-1]]
    stopped = sorted({**run.waits, **run.failures}.items())
    return {
        "pictures": [picture.draw(run, round) for round in rounds],
        "rounds": rounds,
        "printed": [
            f"rank {rank}: {line}" for rank, lines in enumerate(run.printed) for line in lines
        ],
        "marks": [{"rank": rank, "line": at.line} for rank, at in stopped if at.line],
    }
