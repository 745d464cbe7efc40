"""Copies of a sharded model on several machines: what a GPU holds, and what leaves a machine."""

from dataclasses import dataclass

from course.core import CourseError

SENT_BYTES, HELD_BYTES = 4, 16  # per parameter in float32; held with gradient and AdamW's state
PASSES = 3  # trips of a parameter within its copy: two gathers, and its gradient


@dataclass(frozen=True)
class Layout:
    """`machines` with `gpus` each; `sharing` ranks in a row hold one copy of the model.

    Collectives are counted as rings in the order of the ranks, in bytes per parameter and step.
    """

    machines: int
    gpus: int
    sharing: int

    def __post_init__(self) -> None:
        if min(self.machines, self.gpus, self.sharing) < 1 or self.ranks % self.sharing:
            raise CourseError(
                f"{self.sharing} GPUs cannot share a copy of the model on {self.ranks} GPUs: "
                "give a number that divides them."
            )
        if self.gpus % self.sharing and self.sharing % self.gpus:
            raise CourseError("A copy takes whole machines, or an equal part of one.")

    @property
    def ranks(self) -> int:
        """All GPUs."""
        return self.machines * self.gpus

    @property
    def copies(self) -> int:
        """The number of copies of the whole model."""
        return self.ranks // self.sharing

    @property
    def held(self) -> float:
        """What each GPU holds at rest: weights, gradients and optimizer state."""
        return HELD_BYTES / self.sharing

    @property
    def gathers_out(self) -> float:
        """The bytes that leave a machine because a copy spans several: its ring crosses once."""
        if self.sharing <= self.gpus:
            return 0.0
        return PASSES * SENT_BYTES * (self.sharing - 1) / self.sharing

    @property
    def averages_out(self) -> float:
        """The bytes that leave a machine to average the shards of the copies."""
        if self.machines == 1:
            return 0.0
        rings = min(self.sharing, self.gpus)  # a machine has one ring for each shard that it holds
        return rings * 2 * (self.copies - 1) / self.copies * SENT_BYTES / self.sharing

    @property
    def out(self) -> float:
        """The bytes that leave a machine in a step."""
        return self.gathers_out + self.averages_out
