"""One explorable a lab: each is a pure model of the thing, its picture, and a widget that moves it."""

from course.explore import bucket_picture, collectives_picture, ddp_picture, processes_picture, split_picture
from course.explore.bucket_picture import buckets
from course.explore.collectives_picture import collectives
from course.explore.processes_picture import processes
from course.explore.quiz import Quiz
from course.explore.split_picture import split
from course.explore.widget import Choice, Explorable, Slider, Steps, Toggle

__all__ = ["Choice", "Explorable", "Slider", "Steps", "Toggle", "buckets", "figures"]


def figures() -> dict[str, str]:
    """Every still for images/, by file name."""
    return bucket_picture.figures() | ddp_picture.figures()
