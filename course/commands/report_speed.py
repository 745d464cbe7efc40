"""Part of `report`: compare the labs' code with torch's for speed, by the labs' own scripts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import quantiles

from course import hardware
from course.core import CourseError
from course.launch import launch

LIMIT_S = 600.0


@dataclass(frozen=True)
class Duel:
    """Two implementations that a script times in turns, by the names under which it logs them."""

    first: str
    second: str
    title: str  # the comparison in words


def races() -> dict[str, tuple[Duel, ...]]:
    """The pairs to compare, by the command that times them: a lab's script with its arguments."""
    cap = "25" if hardware.device() == "cuda" else "1"  # MiB in a bucket, as in lab 03b
    return {
        "src/duel.py": (Duel("ring", "torch", "your ring to torch's all-reduce"),),
        f"src/compare.py none {cap} torch": (
            Duel(cap, "torch", "your buckets to torch's DDP"),
            Duel("torch", "none", "torch's DDP to no communication"),
        ),
        "src/hvd_race.py": (Duel("fused, 1 ms", "DDP", "the Horovod engine to torch's DDP"),),
        "src/zero_ways.py race": (
            Duel("zero_one", "torch_zero", "your ZeRO-1 to torch's"),
            Duel("zero_two", "ddp", "your ZeRO-2 to torch's DDP"),
        ),
        "src/fsdp_ways.py race": (Duel("my_fsdp", "torch_fsdp", "your FSDP to torch's"),),
        "src/torch_pipeline.py": (Duel("our 1F1B", "1F1B", "your 1F1B to torch's"),),
    }


def rows(script: str, ranks: int) -> list[dict]:
    """Run a script on this many ranks; return the rows that it logs, or raise `CourseError`."""
    if "pipeline" in script:
        ranks = 2  # its model has four layers: two stages on each rank
    torchrun = ["torchrun", "--standalone", "--nproc-per-node", str(ranks)]
    run = launch([*torchrun, *script.split()], limit=LIMIT_S)
    if not run.ok:
        failed = run.raised(run.first_failed) if run.first_failed is not None else ""
        raise CourseError(f"{run.reason}{f': {failed}' if failed else ''}")
    return run.rows


def compared(logged: Iterable[Mapping], pair: Duel) -> str:
    """Say how long the first takes relative to the second, by the slowest rank of each round."""
    times: dict[tuple[str, int], float] = {}
    for row in logged:
        if duration := row.get("step_ms", row.get("seconds")):
            turn = row["way"], row["round"] if "round" in row else row["turn"]
            times[turn] = max(duration, times.get(turn, 0.0))
    ratios = [times[way, n] / times[pair.second, n] for way, n in times if way == pair.first]
    low, middle, high = (f"{ratio:.2f}" for ratio in quantiles(ratios, n=4, method="inclusive"))
    return f"{pair.title}: {middle} ({low} to {high} in half of the rounds)"
