"""A notebook cell that has run, for the tests of the magics."""

import re
from collections.abc import Callable

from IPython.core.interactiveshell import ExecutionResult

from course.core import CourseError
from support import evidence


class Cell:
    """A cell that has run: its result or error, and what it showed, without colours."""

    def __init__(self, result: ExecutionResult, shown: str) -> None:
        self.result, self.error = result.result, result.error_in_exec
        self.shown = re.sub(r"\x1b\[[\d;]*m", "", shown)
        evidence.keep("the cell showed", lambda: self.shown)


RunCell = Callable[[str], Cell]  # the fixture `cell`: runs the source of a cell


def refused(cell: Cell) -> str:
    """The one sentence that a cell failed with; asserts that no traceback was shown."""
    assert isinstance(cell.error, CourseError) and "Traceback" not in cell.shown
    return str(cell.error)
