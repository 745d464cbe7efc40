"""A machine without Slurm, and a wait that is gentle to a machine with it."""

import functools

from course.clusters.slurm.commands import Commands
from support import patience

until = functools.partial(patience.until, every=0.25)  # each check starts a Slurm command


class NoSlurm(Commands):
    """A machine without Slurm."""

    def __init__(self) -> None:
        super().__init__()
        self._env["PATH"] = "/nonexistent"
