"""The source of every notebook, the rules it keeps to, and the making of the notebooks."""

from course.lessons.hints import read as read_hints
from course.lessons.lesson import Lesson, lab_of, labs, lessons, opened
from course.lessons.notebooks import build, rewrite_prose, write_scripts
from course.lessons.rules import select
from course.lessons.up_to_date import stale, stale_beside

__all__ = [
    "Lesson",
    "build",
    "lab_of",
    "labs",
    "lessons",
    "opened",
    "read_hints",
    "rewrite_prose",
    "select",
    "stale",
    "stale_beside",
    "write_scripts",
]
