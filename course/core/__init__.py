"""What every room may use: the one error that speaks to a learner, metrics, open TODOs, files, words for numbers."""

from course.core.errors import CourseError, Interrupted
from course.core.files import write_whole
from course.core.metrics import METRICS_FILE, log

__all__ = ["METRICS_FILE", "CourseError", "Interrupted", "log", "write_whole"]
