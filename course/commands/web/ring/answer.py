"""What the page try_ring asks: judge this source, and draw what its ranks did."""

import json

from course.commands.web.ring import check, picture
from course.commands.web.ring.replay import Run

MOST_DRAWN = 24  # rounds; a ring of four ranks has 6


def answer(source: str) -> str:
    """The report on a source as JSON, with a picture of each round."""
    report = check.check(source)
    done = report.run
    rounds = _drawn(done) if done else []
    return json.dumps(
        {
            "passed": report.passed,
            "verdicts": [
                {"asked": each.asked, "holds": each.holds, "why": each.why}
                for each in report.verdicts
            ],
            "pictures": [picture.draw(done, round) for round in rounds],
            "rounds": rounds,
            "printed": _printed(done) if done else [],
            "marks": _marks(done) if done else [],
        }
    )


def _drawn(done: Run) -> list[int]:
    """The rounds to draw: all, or the first ones and the last."""
    every = list(range(done.world.rounds + 1))
    return every if len(every) <= MOST_DRAWN else [*every[: MOST_DRAWN - 1], every[-1]]


def _printed(done: Run) -> list[str]:
    """What the ranks printed, one after another."""
    return [f"rank {rank}: {line}" for rank, lines in enumerate(done.printed) for line in lines]


def _marks(done: Run) -> list[dict[str, int]]:
    """The lines at which ranks wait or have failed."""
    at = {rank: wait.line for rank, wait in done.waits.items()}
    at |= {rank: failure.line for rank, failure in done.failures.items()}
    return [{"rank": rank, "line": line} for rank, line in sorted(at.items()) if line]
