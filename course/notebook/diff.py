"""What changed from one script to the next, line by line."""

import difflib
import html
from pathlib import Path

from course.core import CourseError, lesson_marks, read_script, words
from course.drawing import html_card, palette


class Diff:
    """Two scripts compared; a notebook shows the changed lines with `context` lines around them."""

    def __init__(
        self, before: list[str], after: list[str], names: tuple[str, str], context: int = 1
    ) -> None:
        self.lines = list(difflib.unified_diff(before, after, *names, n=context, lineterm=""))

    @property
    def added(self) -> int:
        """The number of new lines, blank ones not counted."""
        return self._count("+")

    @property
    def removed(self) -> int:
        """The number of removed lines, blank ones not counted."""
        return self._count("-")

    def _count(self, sign: str) -> int:
        changed = [line[1:] for line in self.lines[2:] if line.startswith(sign)]  # skip names
        return len([line for line in changed if line.strip()])

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        shown = "".join(_row(line) for line in self.lines[2:])
        counts = f"{words.plural(self.added, 'line')} added, {self.removed} removed"
        return html_card.card(
            f'<b style="padding:0 14px">{counts}</b>\n{shown}',
            "padding:10px 0;max-width:758px;line-height:1.35;"
            "white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere",  # not within words
            "pre",
        )


def _row(line: str) -> str:
    mark = {"+": palette.GOOD, "-": palette.ALARM}.get(line[:1])
    ground = palette.tint(mark, 0.85) if mark else "transparent"
    text = "⋯" if line.startswith("@@") else line
    style = f"display:block;background:{ground};padding:0 14px"
    return f'<span style="{style}">{html.escape(text) or " "}</span>'


def diff(before: str, after: str) -> Diff:
    """Compare the script `before` with the script `after`; markers of solutions do not count.

    Raises `CourseError` if one is missing.
    """
    texts = []
    for path in (before, after):
        if not Path(path).is_file():
            raise CourseError(f"There is no script {path}: run the cell that writes it.")
        texts.append(lesson_marks.unmarked(read_script(Path(path)).splitlines()))
    return Diff(*texts, (before, after))
