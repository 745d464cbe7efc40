"""Checks of the learner's code: plain pytest, run on real ranks through the course's launcher.

`engine` runs them; a folder for each lab holds them. A class names the script it checks in `exercise`; the docstring
of each test says what holds when it passes, and `hint` what to think about when it does not.
"""

from course.checks.engine.catalogue import exercises
from course.checks.engine.report import Report, check

__all__ = ["Report", "check", "exercises"]
