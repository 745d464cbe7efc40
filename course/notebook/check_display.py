"""Which check is running, in a line that is there only while it runs."""

import html

from IPython.display import display

from course.drawing import html_card, palette
from course.launch import Done, Event, Progress, Run

EMPTY = {"text/html": ""}  # so that what a notebook stores does not depend on when a check began


class CheckDisplay:
    """Watches the process of the checks (`check(..., watch=CheckDisplay())`)."""

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
