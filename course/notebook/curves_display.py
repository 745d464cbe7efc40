"""The live curves of a run in one output area of a notebook, drawn again as rows arrive."""

from IPython.display import DisplayHandle, display

from course.charts import live_curves


class CurvesDisplay:
    """One output area; it appears with the first `step` or progress bar."""

    def __init__(self) -> None:
        self._handle: DisplayHandle | None = None

    def show(self, rows: list[dict], progress: dict[int, str], ended: bool = False) -> None:
        """Draw the rows logged so far, and the progress bars that ranks write themselves.

        `ended` says that the run is over and went well.
        """
        picture = live_curves.draw(rows, progress, ended)
        if self._handle and picture:
            self._handle.update(picture)
        elif self._handle:  # only progress bars were shown; their last state is among the lines
            self._handle.update({"text/plain": ""}, raw=True)
        elif picture:
            self._handle = display(picture, display_id=True)
