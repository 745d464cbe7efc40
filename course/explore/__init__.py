"""One explorable a lab: each is a pure model of the thing, its picture, and a widget that moves it."""

import importlib
from pathlib import Path

from course.explore.pictures.all_reduce import all_reduces
from course.explore.pictures.backfill import queue
from course.explore.pictures.buckets import buckets
from course.explore.pictures.collectives import collectives
from course.explore.pictures.hierarchy import two_levels
from course.explore.pictures.loss_scale import loss_scale
from course.explore.pictures.number_formats import formats
from course.explore.pictures.processes import processes
from course.explore.pictures.replicas import replicas
from course.explore.pictures.scaling import scaling
from course.explore.pictures.split import split
from course.explore.pictures.staleness import staleness
from course.explore.pictures.stragglers import stragglers
from course.explore.pictures.strategies import strategies
from course.explore.pictures.tensor_fusion import tensor_fusion
from course.explore.quiz import Quiz
from course.explore.widget import Choice, Explorable, Slider, Steps, Toggle

__all__ = [
    "Choice", "Explorable", "Quiz", "Slider", "Steps", "Toggle", "all_reduces", "buckets", "collectives",
    "figures", "formats", "loss_scale", "processes", "queue", "replicas",
    "scaling", "split", "staleness", "stragglers", "strategies", "tensor_fusion", "two_levels",
]  # fmt: skip

HERE = Path(__file__).parent


def figures() -> dict[str, str]:
    """Every still for images/, by file name: those of each picture that has any."""
    rooms = ("pictures", "stills")
    names = [
        f"{room}.{path.stem}" for room in rooms for path in sorted((HERE / room).glob("[a-z]*.py"))
    ]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {
        file: still
        for module in modules
        for file, still in getattr(module, "figures", dict)().items()
    }
