"""The source of every notebook, the rules it keeps to, and the making of the notebooks."""

from course.lessons.lesson import Lesson, lessons
from course.lessons.notebooks import build, rewrite_prose, write_scripts
from course.lessons.rules import select
from course.lessons.up_to_date import stale, stale_beside

__all__ = [
    "Lesson",
    "build",
    "lessons",
    "rewrite_prose",
    "select",
    "stale",
    "stale_beside",
    "write_scripts",
]
