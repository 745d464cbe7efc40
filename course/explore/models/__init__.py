"""The arithmetic behind each explorable: plain Python that draws nothing."""

from course.explore.models import (
    all_reduce,
    alpha_beta,
    backfill,
    buckets,
    collectives,
    hierarchy,
    loss_scale,
    number_formats,
    processes,
    replicas,
    scaling,
    split,
    staleness,
    stragglers,
    strategies,
    tensor_fusion,
)

__all__ = [
    "all_reduce",
    "alpha_beta",
    "backfill",
    "buckets",
    "collectives",
    "hierarchy",
    "loss_scale",
    "number_formats",
    "processes",
    "replicas",
    "scaling",
    "split",
    "staleness",
    "stragglers",
    "strategies",
    "tensor_fusion",
]
