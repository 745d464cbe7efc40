"""Published all-reduces by the link that they went over, and which of them lie beside a number."""

from dataclasses import dataclass

from course.charts import published
from course.core import words

ANY = "any"
LINKS = {ANY: "", "NVLink": "NVLink", "PCIe": "PCIe", "between nodes": "node", "TCP": "TCP"}


def lines(link: str) -> list[published.Line]:
    """The all-reduces over this link, by what the description of theirs contains."""
    return [line for line in published.all_reduces() if LINKS[link] in line.link]


@dataclass(frozen=True)
class Place:
    """Where a bus bandwidth of `rate` GB/s for buffers of `size` bytes stands.

    `beside` are the published figures next to it and the highest, by the names of their lines.
    """

    size: float
    rate: float
    beside: dict[str, float]

    @property
    def finding(self) -> str:
        """How far the fastest is from it, in a sentence without its full stop."""
        if not self.beside:
            return f"Nobody published a number near {words.size(self.size)} over this link"
        name, top = max(self.beside.items(), key=lambda one: one[1])
        times = words.significant(max(top, self.rate) / min(top, self.rate))
        if top > self.rate:
            return f"At {words.size(self.size)}, {name} reached {times} times yours"
        return f"At {words.size(self.size)}, yours is {times} times the fastest, {name}"


def place(link: str, size: float, rate: float) -> Place:
    """Where this number stands among the all-reduces over the link."""
    return Place(size, rate, published.neighbours(size, rate, lines(link)))
