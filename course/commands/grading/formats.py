"""The formats in which teachers exchange times and tables with `grade`."""

import csv
import io
from collections.abc import Iterable
from datetime import datetime

from course.core import CourseError

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # of a cell that a spreadsheet computes


def read_time(text: str) -> datetime | None:
    """Read a time such as ``2026-11-20 18:00``, in this machine's zone if it names none.

    Returns None for "", and raises `CourseError` for any other text that is not a time.
    """
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise CourseError(
            f"{text!r} is not a time: write it as 2026-11-20, or as 2026-11-20 18:00."
        ) from None


def csv_text(rows: Iterable[Iterable[object]], delimiter: str = ",") -> str:
    """Rows as CSV, in which a spreadsheet finds no formula."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerows([_safe(cell) for cell in row] for row in rows)
    return text.getvalue()


def _safe(cell: object) -> object:
    """A cell that a spreadsheet reads as text, even if it looks like a formula; numbers stay."""
    if not isinstance(cell, str) or not cell.startswith(FORMULA_STARTS) or len(cell) == 1:
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
