"""One widget for every explorable: native controls above a picture that Python draws again when a control moves."""

import bisect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from course.core import CourseError
from course.drawing import Picture, significant

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Slider:
    """A number from `min` to `max`; `step` is what separates two stops, or the factor between them if `log`."""

    label: str
    min: float
    max: float
    value: float
    step: float = 1
    unit: str = ""
    log: bool = False

    def stops(self) -> list[float]:
        """Every value that the slider can take, rising; the one it starts with is among them."""
        stops, value = {self.min, self.max, self.value}, self.min
        while value < self.max:
            # Geometric stops are rounded to two digits for the reader: 1, 1.3, 1.6, ... 10, 13, 16; not 2, 4, ... 256.
            exact = not self.log or float(self.step).is_integer()
            stops.add(round(value, 9) if exact else float(f"{value:.2g}"))
            value = value * self.step if self.log else value + self.step
        return sorted(int(stop) if float(stop).is_integer() else stop for stop in stops)

    def spec(self, values: dict[str, Any]) -> dict[str, Any]:
        """What the front end needs to show it."""
        return {
            "stops": self.stops(),
            "texts": [f"{significant(stop)} {self.unit}".strip() for stop in self.stops()],
        }

    def accept(self, value: Any, values: dict[str, Any]) -> float:
        """The stop nearest to `value`; raise `CourseError` if it is no number between `min` and `max`."""
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not self.min <= value <= self.max:
            raise CourseError(
                f"{self.label} takes a number from {self.min} to {self.max}, not {value!r}."
            )
        stops = self.stops()
        after = bisect.bisect_left(stops, value)
        return min(stops[max(after - 1, 0) : after + 1], key=lambda stop: abs(stop - value))


@dataclass(frozen=True)
class Choice:
    """One of a few named `options`."""

    label: str
    options: tuple[str, ...]
    value: str

    def spec(self, values: dict[str, Any]) -> dict[str, Any]:
        """What the front end needs to show it."""
        return {"options": list(self.options)}

    def accept(self, value: Any, values: dict[str, Any]) -> str:
        """`value`; raise `CourseError` if it is no option."""
        if value not in self.options:
            raise CourseError(f"{self.label} is one of {', '.join(self.options)}, not {value!r}.")
        return value


@dataclass(frozen=True)
class Toggle:
    """On or off."""

    label: str
    value: bool = True

    def spec(self, values: dict[str, Any]) -> dict[str, Any]:
        """What the front end needs to show it."""
        return {}

    def accept(self, value: Any, values: dict[str, Any]) -> bool:
        """`value`; raise `CourseError` if it is neither True nor False."""
        if not isinstance(value, bool):
            raise CourseError(f"{self.label} is True or False, not {value!r}.")
        return value


@dataclass(frozen=True)
class Steps:
    """An animation of pictures 0 … count-1, played a step a second; `count` may depend on the other values."""

    label: str
    count: int | Callable[[dict[str, Any]], int]
    value: int = 0

    def last(self, values: dict[str, Any]) -> int:
        """The number of the last picture while the other controls have `values`."""
        return (self.count(values) if callable(self.count) else self.count) - 1

    def spec(self, values: dict[str, Any]) -> dict[str, Any]:
        """What the front end needs to show it."""
        return {"last": self.last(values)}

    def accept(self, value: Any, values: dict[str, Any]) -> int:
        """`value`, or the last step if another control left fewer; raise `CourseError` if it is no step at all."""
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise CourseError(f"{self.label} is a step, counted from 0, not {value!r}.")
        return min(value, self.last(values))


Control = Slider | Choice | Toggle | Steps


class Explorable(anywidget.AnyWidget):
    """A picture with controls: ``Explorable(draw, ranks=Slider(…), …)`` shows ``draw(ranks=…, …)``, an SVG `Picture`.

    ``explorable.at(ranks=8)`` moves controls from Python. Where no kernel runs, the picture as it was last is shown.
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
        """Move the named controls and return the explorable; a value that a control cannot take is a `CourseError`."""
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
