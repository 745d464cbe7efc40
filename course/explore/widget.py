"""The widget of every explorable: controls above a picture, which Python redraws as they move."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from course.drawing import Picture
from course.explore.controls import Control
from course.explore.state import State

HERE = Path(__file__).parent
STYLES = ("widget.css", "dark.css")
SVG = "image/svg+xml"


class Explorable(anywidget.AnyWidget):
    """A picture with controls: ``Explorable(draw, ranks=Slider(…))`` shows ``draw(ranks=…)``.

    ``explorable.at(ranks=8)`` moves controls from Python. If no kernel is running, the last
    picture is shown.
    """

    _esm = (HERE / "widget.js").read_text(encoding="utf-8")
    _css = "".join((HERE / name).read_text(encoding="utf-8") for name in STYLES)
    controls = traitlets.List().tag(sync=True)
    values = traitlets.Dict().tag(sync=True)
    picture = traitlets.Unicode().tag(sync=True)

    def __init__(self, draw: Callable[..., Picture], **controls: Control) -> None:
        self._state = State(draw, controls)
        super().__init__(values=self._state.first)

    def at(self, **values: Any) -> "Explorable":
        """Move the named controls and return the explorable.

        Raises `CourseError` for a name without a control, or a value that a control cannot take.
        """
        self.values = {**self.values, **values}
        return self

    @traitlets.validate("values")
    def _accept(self, proposal: dict[str, Any]) -> dict[str, Any]:
        return self._state.accepted(proposal["value"])

    @traitlets.observe("values")
    def _redraw(self, _: dict[str, Any]) -> None:
        self.controls = self._state.specs(self.values)
        self.picture = self._state.picture(self.values)

    @property
    def still(self) -> Picture:
        """The current picture as a still, for pages without a kernel."""
        return Picture(self.picture).still

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**options)
        picture = self.still._repr_mimebundle_()
        # The site's pages and the slides read the state of the picture from these values.
        return {**data, **picture}, metadata | {SVG: {"values": dict(self.values)}}
