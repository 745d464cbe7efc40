"""The runs that `why` was recorded on, and the first cause that each must have.

tests/tools/measure_why.py records them, and tests/diagnostics/why judges the recordings: a recorded
time is the same on every machine.
"""

import json
import lzma
import re
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from course.core import ROOT
from course.diagnostics import WhyAnswer
from course.diagnostics.profiling import timeline
from course.diagnostics.profiling.timeline import RankReport
from support import solutions

DIAGNOSTICS = ROOT / "tests" / "diagnostics"
RECORDED = DIAGNOSTICS / "why" / "recorded" / "cpus"  # a file for each run
STEPS = 20  # that are kept at most
RACE = "race --size tiny --pairs 8 --ways"


class Run(NamedTuple):
    """A script of tests/diagnostics or of a lab, its arguments, and the cause to find."""

    script: str
    words: str
    cause: str
    rank: int | None = None
    where: str = ""
    ranks: int = 2
    first: bool = True  # if not, it must be named: another cause may cost as much
    says: str = ""  # a part of the cure
    recorded: bool = True  # if not, it has a fact, which test_watched.py judges on live ranks

    @property
    def name(self) -> str:
        """The name that selects this run on the command line."""
        return f"{self.script} {self.words}".strip() + (" on four" if self.ranks == 4 else "")

    @property
    def file(self) -> str:
        """The name of the file with the reports of its ranks."""
        return re.sub(r"\W+", "_", self.name) + ".json.xz"

    def command(self, folder: Path) -> list[str]:
        """The command that starts it; a lab's scripts go into `folder`, others may write there."""
        words = ["torchrun", "--standalone", "--nproc-per-node", str(self.ranks)]
        if self.script.startswith("labs/"):
            solutions.write(self.script.removeprefix("labs/"), folder)
            script, *rest = self.words.split()
            return [*words, str(folder / script), *rest]
        rest = [self.words, str(folder)] if self.words else []
        return [*words, str(DIAGNOSTICS / f"{self.script}.py"), *rest]


# The scripts of why/plants, each with one cause.
PLANTED = [
    Run("why/plants/plain_ddp", "healthy", "computing"),
    Run("why/plants/plain_ddp", "straggler in forward", "straggler", 1, "forward"),
    Run("why/plants/plain_ddp", "straggler in backward", "straggler", 1, "backward"),
    Run("why/plants/with_trainer", "straggler outside", "straggler", 1, "between steps"),
    Run("why/plants/with_accelerate", "input", "input", None, "with_accelerate.py"),
    Run("why/plants/with_accelerate", "not sharded", "not sharded", None, "with_accelerate.py"),
    Run("why/plants/plain_ddp", "python", "python", None, "planted.py"),
    Run("why/plants/plain_ddp", "optimizer", "optimizer", None, "plain_ddp.py"),
    Run("why/plants/plain_ddp", "saving", "saving", 0, "planted.py"),
    Run("why/plants/plain_ddp", "objects", "synchronization", None, "planted.py"),
    Run("why/plants/plain_ddp", "threads", "threads"),
    Run("why/plants/plain_ddp", "anomaly detection", "anomaly detection", recorded=False),
    Run("why/plants/plain_ddp", "bandwidth", "bandwidth", first=False),
    Run("why/plants/plain_ddp", "buffers", "buffers", first=False),
    Run("why/plants/plain_ddp", "no overlap", "no overlap", first=False),
    Run("why/plants/by_hand", "latency", "latency", None, "by_hand.py"),
    Run("why/plants/by_hand", "accumulation", "accumulation", None, "by_hand.py"),
    Run("why/plants/with_trainer", "unused parameters", "unused parameters", first=False),
    Run("why/plants/accumulates", "fully_shard", "gathering weights", first=False),
    Run("why/plants/idle", "past", "idle DDP", None, "idle.py", first=False, recorded=False),
    Run("why/plants/by_hand", "straggler in forward", "straggler", 1, "forward", ranks=4),
]
# By the fault of on_gpus.py: the first cause, the rank to blame, and its least share of a step.
ON_A_GPU = {
    "healthy": ("computing", None, 0.7),
    "copies": ("copies", None, 0.2),
    "straggler computes": ("straggler", 1, 0.3),
    "straggler in backward": ("straggler", 1, 0.3),
    "bandwidth": ("bandwidth", None, 0.7),
    "saving": ("saving", 0, 0.7),
    "not sharded": ("not sharded", None, 0.5),
    "buffers": ("buffers", None, 0.4),
    "input": ("input", None, 0.5),
}
# Scripts as others write them, and the labs' own.
OTHERS = [
    Run("why/strangers/iterator", "", "input", None, "iterator.py"),
    Run("why/strangers/beside", "", "latency", None, "beside.py"),
    Run("why/strangers/validates", "", "straggler", 0),
    Run("why/strangers/split", "", "bandwidth", says="Most of it is not gradients"),
    Run("labs/06_horovod_style", "digits_hvd.py", "latency", None, "digits_hvd.py"),
    Run("labs/08_scaling", "where.py", "straggler", 0),
    Run("labs/08b_why", "slow.py reading", "input", None, "slow.py"),
    Run("labs/08b_why", "slow.py passes", "accumulation", None, "slow.py"),
    Run("labs/08b_why", "slow.py lengths", "straggler", 1),
    Run("labs/10_sharding", f"zero_ways.py {RACE} zero_one", "latency", None, "zero_one.py"),
    Run("labs/10b_fsdp", f"fsdp_ways.py {RACE} my_fsdp", "bandwidth", None, "my_fsdp.py"),
    Run("labs/11c_three_ways", "three_ways.py --mesh 2 1 1 --steps 30", "latency"),
]
# Scripts for which one cure of a cause is right, and another is not.
CURES = [
    Run(f"why/plants/{script}", how, cause, says=says)
    for script, how, cause, says in (
        ("short_epochs", "workers", "input", "with `persistent_workers=True`"),
        ("short_epochs", "data set", "input", "Move the work that the data set"),
        ("accumulates", "plain", "accumulation", "inside `with model.no_sync():`"),
        ("accumulates", "around backward", "accumulation", "but it begins after the forward"),
        ("accumulates", "by hand", "accumulation", "Average the gradients once for each step"),
        ("accumulates", "accelerate", "accumulation", "`with accelerator.accumulate(model):`"),
        ("in_turns", "flag", "synchronization", "Call the all_reduce once in many steps"),
        ("in_turns", "gradients", "straggler", "Give all ranks the same work in each step"),
    )
]
CURES += [
    Run(
        "why/plants/accumulates",
        "fully_shard",
        "accumulation",
        says="`model.set_requires_gradient_sync(last)`",
    ),
    Run("why/plants/saves", "safetensors", "saving", 0, says="each rank its own part"),
    Run("why/plants/saves", "checkpoint", "saving", 0, says="in the background"),
]
# Correct scripts, in which there is nothing to find.
RIGHT = [
    Run("why/plants/short_epochs", "persistent", "computing"),
    Run("why/plants/in_turns", "rarely", "computing"),
    *(
        Run(f"zoo/{path.stem}", "", "computing")
        for path in sorted((DIAGNOSTICS / "zoo").glob("*.py"))
        if path.stem != "one_rank"
    ),
]
RUNS = [run for run in (*PLANTED, *OTHERS, *CURES, *RIGHT) if run.recorded]


def is_right(run: Run, answer: WhyAnswer) -> bool:
    """Whether an answer has the cause that the run must have, its place, its rank and its cure."""
    return any(
        (cause.name, cause.rank) == (run.cause, run.rank)
        and run.where in cause.location
        and run.says in cause.cure
        for cause in answer.causes[: 1 if run.first else None]
    )


def answer(run: Run, folder: Path) -> WhyAnswer:
    """The answer of `why` to a recorded run, whose reports are unpacked into `folder`."""
    assert (RECORDED / run.file).exists(), (
        f"{run.name!r} was never recorded. On a quiet machine, PYTHONPATH=tests python "
        "tests/tools/measure_why.py --record does that."
    )
    ranks = []
    for number, plain in enumerate(json.loads(lzma.decompress((RECORDED / run.file).read_bytes()))):
        (folder / f"rank{number}.json").write_text(json.dumps(plain))
        ranks.append(timeline.read(folder / f"rank{number}.json"))
    return WhyAnswer(ranks)


def small(ranks: list[RankReport]) -> list[dict]:
    """The reports of a run, reduced to what `why` reads: times to the microsecond, short checksums.

    Checksums are only compared with each other, so each is replaced by a number.
    """
    reports, numbers = [asdict(rank) for rank in ranks], {}
    for rank in reports:
        rank["steps"] = rank["steps"][-STEPS:]
        since = rank["steps"][0]["start"] if rank["steps"] else 0.0
        for step in rank["steps"]:
            for name in ("rows", "model_rows", "indices"):
                step[name] = [numbers.setdefault(key, len(numbers)) for key in step[name]]
            for timed in (step, *step["slices"], *step["passes"]):
                timed["start"], timed["end"] = timed["start"] - since, timed["end"] - since
                timed |= {n: round(v, 6) for n, v in timed.items() if isinstance(v, float)}
            step["slices"] = [
                {name: value for name, value in part.items() if value or name in ("start", "end")}
                for part in step["slices"]
            ]
    return reports
