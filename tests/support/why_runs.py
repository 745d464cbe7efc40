"""The runs that `why` was recorded on, and the first cause that each must have.

tests/tools/measure_why.py records them, and tests/own/slow judges what was recorded: a time that
was measured once is the same on every machine.
"""

import json
import lzma
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

from course.core import ROOT
from course.own import Answer
from course.own.watch import timeline
from course.own.watch.timeline import RankReport

OWN = ROOT / "tests" / "own"
RECORDED = OWN / "slow" / "recorded" / "cpus.json.xz"
STEPS = 10  # that are kept


class Run(NamedTuple):
    """A script of tests/own, what it is to do, and the cause to be found: whose, and where."""

    script: str
    words: str
    cause: str
    rank: int | None = None
    where: str = ""
    ranks: int = 2
    first: bool = True  # or it is named: what else was measured may cost as much
    says: str = ""  # a part of the answer

    @property
    def name(self) -> str:
        """By which it is kept."""
        return f"{self.script} {self.words}".strip() + (" on four" if self.ranks == 4 else "")

    def command(self, folder: Path) -> list[str]:
        """What starts it; it may write to a folder."""
        words = [str(OWN / f"{self.script}.py"), *([self.words, str(folder)] if self.words else [])]
        return ["torchrun", "--standalone", "--nproc-per-node", str(self.ranks), *words]


# The scripts of slow/plants, each with one cause.
PLANTED = [
    Run("slow/plants/plain_ddp", "healthy", "computing"),
    Run("slow/plants/plain_ddp", "straggler in forward", "straggler", 1, "forward"),
    Run("slow/plants/plain_ddp", "straggler in backward", "straggler", 1, "backward"),
    Run("slow/plants/with_trainer", "straggler outside", "straggler", 1, "outside the step"),
    Run("slow/plants/with_accelerate", "input", "input", None, "with_accelerate.py"),
    Run("slow/plants/with_accelerate", "not sharded", "not sharded", None, "with_accelerate.py"),
    Run("slow/plants/plain_ddp", "python", "python", None, "planted.py"),
    Run("slow/plants/plain_ddp", "optimizer", "optimizer", None, "plain_ddp.py"),
    Run("slow/plants/plain_ddp", "saving", "saving", 0, "planted.py"),
    Run("slow/plants/plain_ddp", "objects", "synchronization", None, "planted.py"),
    Run("slow/plants/plain_ddp", "threads", "threads"),
    Run("slow/plants/plain_ddp", "bandwidth", "bandwidth", first=False),
    Run("slow/plants/plain_ddp", "buffers", "buffers", first=False),
    Run("slow/plants/plain_ddp", "no overlap", "no overlap", first=False),
    Run("slow/plants/by_hand", "latency", "latency", None, "by_hand.py"),
    Run("slow/plants/by_hand", "accumulation", "accumulation", None, "by_hand.py"),
    Run("slow/plants/with_trainer", "unused parameters", "unused parameters", first=False),
    Run("slow/plants/idle", "past", "idle DDP", None, "idle.py", first=False),
    Run("slow/plants/by_hand", "straggler in forward", "straggler", 1, "forward", ranks=4),
]
# Scripts as others write them.
OTHERS = [
    Run("slow/strangers/iterator", "", "input", None, "iterator.py"),
    Run("slow/strangers/validates", "", "straggler", 0, "forward"),
    Run("slow/strangers/split", "", "bandwidth", says="Most of it is not gradients"),
    Run("slow/plants/short_epochs", "workers", "input", says="with `persistent_workers=True`"),
]
# Right scripts, in which nothing is to be found.
RIGHT = [
    Run("zoo/pipeline", "", "computing", says="which rank is late where ranks send to one another"),
    Run("zoo/gan", "", "computing"),
    Run("zoo/accumulates_sharded", "", "computing"),
    Run("zoo/with_trainer", "", "computing"),
    Run("zoo/by_hand", "", "computing"),
]
RUNS = [*PLANTED, *OTHERS, *RIGHT]


def is_right(run: Run, answer: Answer) -> bool:
    """Whether the cause is found that must be, at its place and rank."""
    return any(
        (each.cause, each.rank) == (run.cause, run.rank) and each.where.startswith(run.where)
        for each in answer.causes[: 1 if run.first else None]
    )


@cache
def recorded() -> dict[str, list[dict]]:
    """What the ranks of each run reported, by its name."""
    return json.loads(lzma.decompress(RECORDED.read_bytes()))


def answer(run: Run, folder: Path) -> Answer:
    """What `why` answers to what was recorded; the reports are read from a folder."""
    ranks = []
    for number, plain in enumerate(recorded()[run.name]):
        (folder / f"rank{number}.json").write_text(json.dumps(plain))
        ranks.append(timeline.read(folder / f"rank{number}.json"))
    return Answer(ranks)


def small(ranks: list[RankReport]) -> list[dict]:
    """The reports of a run with what `why` reads of them: times in microseconds, small checksums.

    Checksums are compared with one another alone, so that numbers in their order do as well.
    """
    found, numbers = [asdict(rank) for rank in ranks], {}
    for rank in found:
        rank["steps"] = rank["steps"][-STEPS:]
        since = rank["steps"][0]["start"] if rank["steps"] else 0.0
        for step in rank["steps"]:
            for name in ("rows", "fed", "indices"):
                step[name] = [numbers.setdefault(each, len(numbers)) for each in step[name]]
            for timed in (step, *step["slices"], *step["passes"]):
                timed["start"], timed["end"] = timed["start"] - since, timed["end"] - since
                timed |= {n: round(v, 6) for n, v in timed.items() if isinstance(v, float)}
            step["slices"] = [
                {name: value for name, value in each.items() if value or name in ("start", "end")}
                for each in step["slices"]
            ]
    return found
