"""The lessons, the rules they follow, and the build that turns them into notebooks."""

from course.lessons.hints import read as read_hints
from course.lessons.lesson import CORE, Lesson, labs, lessons, read, with_todos
from course.lessons.notebooks import build, rewrite_prose, write_figures
from course.lessons.readme import stale_readme, write_readme
from course.lessons.rules import select
from course.lessons.scripts import write_scripts
from course.lessons.up_to_date import stale, stale_beside

__all__ = [
    "CORE",
    "Lesson",
    "build",
    "labs",
    "lessons",
    "read",
    "read_hints",
    "rewrite_prose",
    "select",
    "stale",
    "stale_beside",
    "stale_readme",
    "with_todos",
    "write_figures",
    "write_readme",
    "write_scripts",
]
