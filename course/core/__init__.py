"""Tools that every package may use: errors shown to a learner, metrics, TODOs, files, words."""

from course.core.errors import CourseError, Interrupted, UnknownTorch
from course.core.files import KEPT, ROOT, RUNS, FolderMark, read_script, write_atomically
from course.core.metrics import METRICS_FILE, log
from course.core.plain import from_plain

__all__ = [
    "KEPT",
    "METRICS_FILE",
    "ROOT",
    "RUNS",
    "CourseError",
    "FolderMark",
    "Interrupted",
    "UnknownTorch",
    "from_plain",
    "log",
    "read_script",
    "write_atomically",
]
