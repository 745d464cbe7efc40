"""The state of an explorable: the values of its controls, and the resulting picture.

It needs neither Jupyter nor torch: the widget keeps a state in the kernel, a web page keeps one in
the browser.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from course.core import CourseError
from course.drawing import Picture
from course.explore.controls import Control


class State:
    """A drawing function, and the controls whose values it draws."""

    def __init__(self, draw: Callable[..., Picture], controls: Mapping[str, Control]) -> None:
        self._draw, self._controls = draw, controls

    @property
    def first(self) -> dict[str, Any]:
        """The initial values of the controls."""
        return {name: control.value for name, control in self._controls.items()}

    def accepted(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Add missing first values to `values`, and move each to one that its control can take.

        Raises `CourseError` for a name without a control, or a value that a control cannot take.
        """
        if unknown := [name for name in values if name not in self._controls]:
            raise CourseError(
                f"There is no control {unknown[0]!r} here; there are {', '.join(self._controls)}."
            )
        every = self.first | dict(values)
        for name, control in self._controls.items():
            every[name] = control.accept(every[name], every)
        return every

    def specs(self, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The data that the front end needs to show each control at these values."""
        return [
            {
                "name": name,
                "kind": type(control).__name__,
                "label": control.label,
                **control.spec(dict(values)),
            }
            for name, control in self._controls.items()
        ]

    def picture(self, values: Mapping[str, Any]) -> Picture:
        """Draw the picture for these values."""
        return self._draw(**values)

    def as_json(self, values: str) -> str:
        """Take values as JSON, and return values, controls and picture as JSON, for a browser."""
        every = self.accepted(json.loads(values))
        shown = {
            "values": every,
            "controls": self.specs(every),
            "picture": str(self.picture(every)),
        }
        return json.dumps(shown)
