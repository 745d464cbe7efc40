"""Checks of the learner's code: plain pytest, run on real ranks through the course's launcher.

`engine` runs them. A folder for each lab holds one file of checks for each exercise, named as it is
typed after ``%check``: the docstring of a check says what holds when it passes, its `hint` what to
think about when it does not. Files named ``any_...`` are shared by exercises; those named
``on_rank_...`` run on each rank, beside the learner's code.
"""

from course.checks.engine.catalogue import exercises, node_of
from course.checks.engine.report import Report, check, check_folder

__all__ = ["Report", "check", "check_folder", "exercises", "node_of"]
