"""Run a torchrun, accelerate or python command as supervised ranks: the one way in which the course starts them."""

from course.launch.client import KINDS, LIMIT_S, launch
from course.launch.run import ABORTED, RAISED, TRACEBACK, Line, Run

__all__ = ["ABORTED", "KINDS", "LIMIT_S", "RAISED", "TRACEBACK", "Line", "Run", "launch"]
