"""Drawings that do not move, for images/."""

from course.explore.stills import (
    by_name,
    collectives,
    ddp,
    dp_step,
    hierarchy,
    no_dead_stops,
    nodes,
    outer_step,
    snapshot,
    why,
)

__all__ = [
    "by_name",
    "collectives",
    "ddp",
    "dp_step",
    "hierarchy",
    "no_dead_stops",
    "nodes",
    "outer_step",
    "snapshot",
    "why",
]
