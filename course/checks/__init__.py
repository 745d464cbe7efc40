"""Checks of the learner's code: plain pytest, run on real ranks through the course's launcher.

`runner` runs them, and `tools` helps to write them. The folder of a lab has one file of checks for
each exercise, with the name that follows ``%check``. The docstring of a check says what is true if
it passes, and its `hint` says what to think about if it fails. Exercises share the files named
``any_...``; files named ``on_rank_...`` run on each rank, next to the learner's code.
"""

from course.checks.runner.catalogue import node_of, nodes
from course.checks.runner.check import check, check_folder, digest

__all__ = ["check", "check_folder", "digest", "node_of", "nodes"]
