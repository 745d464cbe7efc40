"""Slurm as it is on most machines: not there."""

from course.clusters.slurm.commands import Commands


class Nothing(Commands):
    """A box without Slurm."""

    def __init__(self) -> None:
        super().__init__()
        self._env["PATH"] = "/nonexistent"
