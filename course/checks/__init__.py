"""Checks of the learner's code: plain pytest, run on real ranks through the course's launcher.

`runner` runs them, and `tools` helps to write them. A folder for each lab holds one file
of checks for each exercise, named as it is typed after ``%check``: the docstring of a check says
what holds when it passes, its `hint` what to think about when it does not. Files named ``any_...``
are shared by exercises; those named ``on_rank_...`` run on each rank, next to the learner's code.
"""

from course.checks.runner.catalogue import node_of, nodes
from course.checks.runner.check import check, check_folder, digest

__all__ = ["check", "check_folder", "digest", "node_of", "nodes"]
