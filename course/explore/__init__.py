"""What a learner plays with: explorables (a model, its picture, its controls), stills, the quiz."""

from course.explore.explorables import (
    all_reduce,
    backfill,
    buckets,
    collectives,
    fewer_messages,
    hierarchy,
    number_formats,
    processes,
    replicas,
    sharding,
    split,
    staleness,
    stragglers,
    strategies,
    tensor_fusion,
)
from course.explore.explorables_of_runs import loss_scale, pipeline, scaling, shards
from course.explore.figures import figures
from course.explore.state import State

__all__ = [
    "Quiz",
    "State",
    "all_reduce",
    "backfill",
    "buckets",
    "collectives",
    "fewer_messages",
    "figures",
    "hierarchy",
    "loss_scale",
    "number_formats",
    "pipeline",
    "processes",
    "replicas",
    "scaling",
    "sharding",
    "shards",
    "split",
    "staleness",
    "stragglers",
    "strategies",
    "tensor_fusion",
]


def __getattr__(name: str) -> object:
    """`Quiz` on its first use: it needs Jupyter, which models and pictures do without."""
    if name != "Quiz":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from course.explore.quiz import Quiz

    return Quiz


def __dir__() -> list[str]:
    """What Jupyter offers after ``explore.`` and Tab."""
    return __all__
