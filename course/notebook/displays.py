"""Show progress in a cell while something runs, in one output area that is redrawn."""

import html

from IPython.display import DisplayHandle, display

from course.charts import live_curves
from course.drawing import html_card, palette
from course.launch import Done, Event, Progress, Run

EMPTY = {"text/html": ""}  # so that the stored output does not depend on when a check began


class CheckDisplay:
    """A line that names the running check and disappears when the checks end.

    Pass it to watch the process of the checks: `check(..., watch=CheckDisplay())`.
    """

    def __init__(self) -> None:
        self._handle = display(EMPTY, raw=True, display_id=True)

    def __call__(self, run: Run, event: Event) -> None:
        """Show one event."""
        match event:
            case Progress(text=text):
                line = f'<span style="color:{palette.MUTED}">{html.escape(text)}</span>'
                card = html_card.card(line, "padding:6px 14px;max-width:732px")
                self._handle.update({"text/html": card}, raw=True)
            case Done():
                self._handle.update(EMPTY, raw=True)


class CurvesDisplay:
    """The live curves of a run, which appear with the first `step` or progress bar."""

    def __init__(self) -> None:
        self._handle: DisplayHandle | None = None

    def show(self, rows: list[dict], progress: dict[int, str], ended: bool = False) -> None:
        """Draw the rows logged so far, and the progress bars that ranks write themselves.

        `ended` is true once the run has ended well.
        """
        picture = live_curves.draw(rows, progress, ended)
        if self._handle and picture:
            self._handle.update(picture)
        elif self._handle:  # it showed only progress bars; their last state is printed as lines
            self._handle.update({"text/plain": ""}, raw=True)
        elif picture:
            self._handle = display(picture, display_id=True)
