"""On a rank: walk the frames of a stack; for rare use, since a generator is slower than a loop."""

from collections.abc import Iterator
from types import FrameType


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame, its caller, the caller of that, and so on."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def modules(frame: FrameType | None) -> Iterator[str]:
    """The names of the modules whose functions are on a stack, from a frame outwards."""
    return (str(caller.f_globals.get("__name__", "")) for caller in outwards(frame))
