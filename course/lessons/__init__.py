"""The source of every notebook, and what reads it, holds it to the rules, and makes the notebooks of it."""

from course.lessons.current import stale, stale_beside
from course.lessons.lesson import Lesson, lessons, read
from course.lessons.notebooks import build, write_scripts
from course.lessons.rules import Around, problems

__all__ = [
    "Around",
    "Lesson",
    "build",
    "lessons",
    "problems",
    "read",
    "stale",
    "stale_beside",
    "write_scripts",
]
