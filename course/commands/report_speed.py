"""For `report`: what one writes in the labs against torch's own, by the labs' own scripts."""

from collections.abc import Iterable, Mapping
from statistics import quantiles

from course import hardware
from course.core import CourseError
from course.launch import launch

LIMIT_S = 600.0
# Each script times several ways in turns. Of a pair, the first is compared with the second.
Races = Mapping[str, tuple[tuple[str, str], ...]]


def races() -> Races:
    """The scripts, with their arguments, and the pairs of their ways."""
    cap = "25" if hardware.device() == "cuda" else "1"  # MiB in a bucket, as lab 03b has it
    return {
        "src/duel.py": (("ring", "torch"),),
        f"src/compare.py none {cap} torch": ((cap, "torch"), ("torch", "none")),
        "src/hvd_race.py": (("fused, 1 ms", "DDP"), ("fused, 20 ms", "DDP")),
        "src/zero_ways.py race": (("zero_one", "torch_zero"), ("zero_two", "ddp")),
        "src/fsdp_ways.py race": (("my_fsdp", "torch_fsdp"),),
        "src/torch_pipeline.py": (("our 1F1B", "1F1B"),),
    }


def rows(script: str, ranks: int) -> list[dict]:
    """What a script in this folder logs on so many ranks; `CourseError` where it fails."""
    if "pipeline" in script:
        ranks = 2  # the four layers of its model make two stages on each
    torchrun = ["torchrun", "--standalone", "--nproc-per-node", str(ranks)]
    run = launch([*torchrun, *script.split()], limit=LIMIT_S)
    if not run.ok:
        failed = run.raised(run.first_failed) if run.first_failed is not None else ""
        raise CourseError(f"{run.reason}{f': {failed}' if failed else ''}")
    return run.rows


def compared(logged: Iterable[Mapping], first: str, second: str) -> str:
    """A sentence: how long one way takes relative to another, by the slowest rank of each round."""
    times: dict[tuple[str, int], float] = {}
    for row in logged:
        if took := row.get("step_ms", row.get("seconds")):
            turn = row["way"], row["round"] if "round" in row else row["turn"]
            times[turn] = max(took, times.get(turn, 0.0))
    ratios = [times[way, n] / times[second, n] for way, n in times if way == first]
    low, middle, high = (f"{each:.2f}" for each in quantiles(ratios, n=4, method="inclusive"))
    return f"{first} takes {middle} times as long as {second} (half of the rounds: {low} to {high})"
