"""One explorable a lab: each is a pure model of the thing, its picture, and a widget that moves it."""

import importlib
from pathlib import Path

from course.explore.all_reduce_picture import all_reduces
from course.explore.backfill_picture import queue
from course.explore.bandwidth_picture import bandwidth
from course.explore.bucket_picture import buckets
from course.explore.collectives_picture import collectives
from course.explore.dp_lanes import device_lanes
from course.explore.fusion_picture import tensor_fusion
from course.explore.hierarchy_picture import two_levels
from course.explore.loss_curves import loss_curves
from course.explore.loss_scale_picture import loss_scale
from course.explore.number_format_picture import formats
from course.explore.processes_picture import processes
from course.explore.quiz import Quiz
from course.explore.replicas_picture import replicas
from course.explore.scaling_picture import scaling
from course.explore.split_picture import split
from course.explore.staleness_picture import staleness
from course.explore.straggler_picture import stragglers
from course.explore.strategies_picture import strategies
from course.explore.tensor_lanes import tensor_timeline
from course.explore.widget import Choice, Explorable, Slider, Steps, Toggle

__all__ = [
    "Choice", "Explorable", "Quiz", "Slider", "Steps", "Toggle", "all_reduces", "bandwidth", "buckets", "collectives",
    "device_lanes", "figures", "formats", "loss_curves", "loss_scale", "processes", "queue", "replicas",
    "scaling", "split", "staleness", "stragglers", "strategies", "tensor_fusion", "tensor_timeline", "two_levels",
]  # fmt: skip


def figures() -> dict[str, str]:
    """Every still for images/, by file name: those of each module ``NAME_picture`` that has any."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*_picture.py"))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {file: still for module in modules for file, still in getattr(module, "figures", dict)().items()}
