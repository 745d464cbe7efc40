"""The widget of every explorable: controls above a picture that Python draws again as they move."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from course.core import CourseError
from course.drawing import Picture
from course.explore.controls import Control

HERE = Path(__file__).parent


class Explorable(anywidget.AnyWidget):
    """A picture with controls: ``Explorable(draw, ranks=Slider(…))`` shows ``draw(ranks=…)``.

    ``explorable.at(ranks=8)`` moves controls from Python. Where no kernel runs, the picture as it
    was last is shown.
    """

    _esm = (HERE / "widget.js").read_text(encoding="utf-8")
    _css = (HERE / "widget.css").read_text(encoding="utf-8")
    controls = traitlets.List().tag(sync=True)
    values = traitlets.Dict().tag(sync=True)
    picture = traitlets.Unicode().tag(sync=True)

    def __init__(self, draw: Callable[..., Picture], **controls: Control) -> None:
        self._draw = draw
        self._by_name = controls
        super().__init__(values={name: control.value for name, control in controls.items()})

    def at(self, **values: Any) -> "Explorable":
        """Move the named controls and return the explorable.

        Raises `CourseError` for a name without a control, or a value that a control cannot take.
        """
        self.values = {**self.values, **values}
        return self

    @traitlets.validate("values")
    def _accept(self, proposal: dict[str, Any]) -> dict[str, Any]:
        values = proposal["value"]
        if unknown := [name for name in values if name not in self._by_name]:
            raise CourseError(
                f"There is no control {unknown[0]!r} here; there are {', '.join(self._by_name)}."
            )
        values = {name: values.get(name, control.value) for name, control in self._by_name.items()}
        for name, control in self._by_name.items():
            values[name] = control.accept(values[name], values)
        return values

    @traitlets.observe("values")
    def _redraw(self, _: dict[str, Any]) -> None:
        self.controls = [
            {
                "name": name,
                "kind": type(control).__name__,
                "label": control.label,
                **control.spec(self.values),
            }
            for name, control in self._by_name.items()
        ]
        self.picture = self._draw(**self.values)

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**options)
        return {**data, **Picture(self.picture)._repr_mimebundle_()}, metadata
