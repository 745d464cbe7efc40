"""What changed from one script to the next, line by line."""

import difflib
import html
from pathlib import Path

from course.core import CourseError
from course.drawing import palette


class Diff:
    """Two scripts compared; a notebook shows the lines that went and came, and a few around them."""

    def __init__(
        self, before: list[str], after: list[str], names: tuple[str, str], context: int = 1
    ) -> None:
        self.lines = list(difflib.unified_diff(before, after, *names, n=context, lineterm=""))

    @property
    def added(self) -> int:
        """How many lines came, blank ones not counted."""
        return self._count("+")

    @property
    def removed(self) -> int:
        """How many lines went, blank ones not counted."""
        return self._count("-")

    def _count(self, sign: str) -> int:
        changed = (
            line[1:] for line in self.lines[2:] if line.startswith(sign)
        )  # after the two names
        return sum(bool(line.strip()) for line in changed)

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        shown = "".join(_row(line) for line in self.lines[2:])
        return (
            f'<pre style="background:{palette.CARD};color:{palette.INK};border:1px solid {palette.RULE};'
            'border-radius:8px;padding:10px 0;max-width:758px;overflow-x:auto;line-height:1.35">'
            '<b style="padding:0 14px">'
            f"{self.added} lines added, {self.removed} removed</b>\n{shown}</pre>"
        )


def _row(line: str) -> str:
    mark = {"+": palette.GOOD, "-": palette.ALARM}.get(line[:1])
    ground = palette.tint(mark, 0.85) if mark else "transparent"
    text = "⋯" if line.startswith("@@") else line
    return f'<span style="display:block;background:{ground};padding:0 14px">{html.escape(text) or " "}</span>'


def diff(before: str, after: str) -> Diff:
    """What changed from the script `before` to the script `after`; raises `CourseError` where one is missing."""
    missing = next((path for path in (before, after) if not Path(path).is_file()), None)
    if missing:
        raise CourseError(f"There is no script {missing}: run the cell that writes it.")
    return Diff(
        Path(before).read_text().splitlines(), Path(after).read_text().splitlines(), (before, after)
    )
