"""What `why` drew of a run in which one rank had the long texts (lab 08b)."""

import json
from pathlib import Path

from course.core import words
from course.drawing import steps, svg

FILE = Path(__file__).with_name("why.json")  # written by tests/tools/record_why.py


def straggler() -> svg.Picture:
    """Draw the recorded step of two ranks."""
    record = json.loads(FILE.read_text(encoding="utf-8"))
    first, step = record["causes"][0], words.duration(record["step_s"])
    share = f"{100 * first['share']:.0f} %"
    return steps.draw(
        record["lanes"],
        f"Rank {first['rank']} is late: without it a step would be {share} shorter",
        f"A typical step of each rank, found by why; the mean step takes {step}",
        f"Rank 0 computes, then waits for rank {first['rank']}, which is later in "
        f"{first['where']}: {share} of a step.",
    )
