"""Draw when each rank trained: lanes over time, with its pauses and the moment of its death."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from course.core import CourseError, words
from course.drawing import Picture, lanes, palette, svg

if TYPE_CHECKING:
    import pandas as pd

LEFT, RIGHT = lanes.LEFT, lanes.RIGHT  # where time begins and ends, in pixels
LANE, NEXT, TOP = lanes.COMPUTE, lanes.COMPUTE + 8, 102
GAP_S = 0.3  # a rank that takes no step for this long stands still


@dataclass(frozen=True)
class Training:
    """When each rank trained, and when it was killed if it was; times are in seconds."""

    stretches: dict[int, Sequence[tuple[float, float]]]
    killed: Mapping[int, float]

    def end(self) -> float:
        """When the last stretch ends."""
        return max(end for stretches in self.stretches.values() for _, end in stretches)

    def longest_pause(self, rank: int) -> float:
        """The longest time between two stretches of a rank, 0 if it has only one."""
        own = self.stretches[rank]
        return max((after[0] - before[1] for before, after in pairwise(own)), default=0.0)


def replica_lanes(runs: Mapping[str, "pd.DataFrame"]) -> Picture:
    """Draw the named runs below one another on one time axis.

    A run is the table of its metrics: a row for each step of a rank, with the columns rank, time
    and step, and rows whose `event` is "killed". Raises `CourseError` for a run without a step.
    """
    trainings = {name: _training(table) for name, table in runs.items()}
    pauses = " and ".join(words.duration(_pause_of_others(run)) for run in trainings.values())
    return draw_training(trainings, f"The others stand still for {pauses}", "Measured here")


def _pause_of_others(run: Training) -> float:
    return max(map(run.longest_pause, run.stretches.keys() - run.killed))


def _training(table: "pd.DataFrame") -> Training:
    steps = table[table["step"].notna()]
    if steps.empty:
        raise CourseError("There is no step to draw: run the script first.")
    begin = steps["time"].min()
    killed = table[table["event"] == "killed"]
    stretches = {}
    for rank, rows in steps.groupby("rank"):
        times = sorted(rows["time"] - begin)
        breaks = [i for i in range(1, len(times)) if times[i] - times[i - 1] > GAP_S]
        edges = zip([0, *breaks], [*breaks, len(times)], strict=True)
        stretches[int(rank)] = [(times[first], times[last - 1]) for first, last in edges]
    deaths = {int(row["rank"]): row["time"] - begin for _, row in killed.iterrows()}
    return Training(stretches, deaths)


def draw_training(runs: Mapping[str, Training], title: str, subtitle: str) -> Picture:
    """Draw all runs on one time axis, each under its name."""
    top = max(run.end() for run in runs.values())
    scale = (RIGHT - LEFT) / top
    parts: list[str] = []
    y = float(TOP)
    for name, run in runs.items():
        parts += lanes.heading(name, y)
        y += lanes.HEADING
        for rank in sorted(run.stretches):
            parts += _lane(rank, run, y, scale)
            y += NEXT
        y += lanes.BETWEEN
    guides = svg.axis(LEFT, y, RIGHT - LEFT, top, "s since the first step", rise=y - TOP + 6)
    alt = ". ".join(f"{name}: {_alt_text(run)}" for name, run in runs.items())
    return svg.card(y + 46, title, [_legend(), guides, *parts], subtitle=subtitle, alt=alt)


def _legend() -> str:
    blue = palette.phase_colour(palette.rank_colour(0), "forward")
    marks = [("solid", blue, "takes steps"), ("solid", palette.WAIT, "stands still")]
    return svg.legend(LEFT, 82, [*marks, ("solid", palette.ALARM, "killed")])


def _lane(rank: int, run: Training, y: float, scale: float) -> list[str]:
    colour, stretches = palette.rank_colour(rank), run.stretches[rank]
    parts = [svg.text(LEFT - 14, y + 18, f"Rank {rank}", anchor="end", bold=True, colour=colour)]
    first, last = stretches[0][0], stretches[-1][1]
    parts.append(svg.rect(LEFT + first * scale, y, (last - first) * scale, LANE, palette.WAIT))
    for begin, end in stretches:
        tip = f"takes steps for {words.duration(end - begin)}"
        width = max((end - begin) * scale, 1)
        parts += lanes.computing(LEFT + begin * scale, y, width, colour, "forward", tip=tip)
    if rank in run.killed:
        x = LEFT + run.killed[rank] * scale
        parts.append(svg.rect(x - 2, y - 3, 4, LANE + 6, palette.ALARM, tip="killed"))
    return parts


def _alt_text(run: Training) -> str:
    """Describe the run in words, for the alt text."""
    killed = [f"rank {rank} is killed after {words.duration(s)}" for rank, s in run.killed.items()]
    still = [
        f"rank {rank} stands still for {words.duration(run.longest_pause(rank))}"
        for rank in sorted(run.stretches.keys() - run.killed)
    ]
    return ", ".join([*killed, *still])
