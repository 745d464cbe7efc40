"""The picture of machines: published all-reduces, and before them a number of the learner's."""

from collections.abc import Mapping

from course.charts import published
from course.core import words
from course.drawing import Picture
from course.explore.models import machines as model

Points = list[tuple[float, float]]  # bytes, bus bandwidth in GB/s


def draw(link: str, size: float, rate: float, own: Mapping[str, Points] | None = None) -> Picture:
    """One state: `rate` in GB/s for a buffer of `size` MiB, and lines that were measured here."""
    now = model.place(link, size * words.MIB, rate)
    mine = dict(own or {}) | {"your number": [(now.size, rate)]}  # the last lies on top
    others = ", ".join(f"{name} {words.significant(top)}" for name, top in now.beside.items())
    return published.draw(
        mine,
        model.lines(link),
        title=now.finding,
        subtitle=f"Yours: {words.significant(rate)} GB/s. Published, not ours: {others or 'none'}",
    )
