"""Part of `report`: the labs' own code against torch's, timed by the labs' scripts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import quantiles

from course import hardware
from course.core import CourseError
from course.launch import launch

LIMIT_S = 600.0


@dataclass(frozen=True)
class Duel:
    """Two ways that a script times in turns, by the names under which it logs them."""

    first: str
    second: str
    means: str  # what it means that the first takes longer or shorter than the second


def races() -> dict[str, tuple[Duel, ...]]:
    """The labs' scripts that time several ways, with their arguments, and the pairs to compare."""
    cap = "25" if hardware.device() == "cuda" else "1"  # MiB in a bucket, as lab 03b has it
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
    """The rows that a script in this folder logs on this many ranks; `CourseError` if it fails."""
    if "pipeline" in script:
        ranks = 2  # the four layers of its model make two stages on each
    torchrun = ["torchrun", "--standalone", "--nproc-per-node", str(ranks)]
    run = launch([*torchrun, *script.split()], limit=LIMIT_S)
    if not run.ok:
        failed = run.raised(run.first_failed) if run.first_failed is not None else ""
        raise CourseError(f"{run.reason}{f': {failed}' if failed else ''}")
    return run.rows


def compared(logged: Iterable[Mapping], pair: Duel) -> str:
    """The time of the first way relative to the second, by the slowest rank of each round."""
    times: dict[tuple[str, int], float] = {}
    for row in logged:
        if took := row.get("step_ms", row.get("seconds")):
            turn = row["way"], row["round"] if "round" in row else row["turn"]
            times[turn] = max(took, times.get(turn, 0.0))
    ratios = [times[way, n] / times[pair.second, n] for way, n in times if way == pair.first]
    low, middle, high = (f"{ratio:.2f}" for ratio in quantiles(ratios, n=4, method="inclusive"))
    return f"{pair.means}: {middle} ({low} to {high} in half of the rounds)"
