"""Drawings that do not move, for images/."""

from course.explore.stills import (
    by_name,
    collectives,
    ddp,
    dp_step,
    hierarchy,
    nodes,
    outer_step,
    snapshot,
)

__all__ = [
    "by_name",
    "collectives",
    "ddp",
    "dp_step",
    "hierarchy",
    "nodes",
    "outer_step",
    "snapshot",
]
