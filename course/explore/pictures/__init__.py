"""One state of each explorable as a drawing; each file draws the model of its name."""

from course.explore.pictures import (
    all_reduce,
    backfill,
    buckets,
    collectives,
    hierarchy,
    loss_scale,
    number_formats,
    processes,
    replicas,
    scaling,
    sharding,
    split,
    staleness,
    stragglers,
    strategies,
    tensor_fusion,
)

__all__ = [
    "all_reduce",
    "backfill",
    "buckets",
    "collectives",
    "hierarchy",
    "loss_scale",
    "number_formats",
    "processes",
    "replicas",
    "scaling",
    "sharding",
    "split",
    "staleness",
    "stragglers",
    "strategies",
    "tensor_fusion",
]
