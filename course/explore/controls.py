"""The controls of explorables: the values each accepts, and the data the front end shows."""

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from course.core import CourseError, words

FINE, COARSE = 10**0.1, 10**0.2  # a slider's step for ten or five stops per power of ten


@dataclass(frozen=True)
class _Labelled:
    """What all controls have; its `spec` is that of a control that needs no more than its label."""

    label: str

    def spec(self, values: dict[str, Any]) -> dict[str, Any]:
        """The data that the front end needs to show the control."""
        return {}


@dataclass(frozen=True)
class Slider(_Labelled):
    """A number from `min` to `max`, which moves in steps.

    `step` is the distance between two stops, or the factor between them if `log`. The stops of a
    `whole` slider are whole numbers. If it is `fine`, a picture or Python may also set it to a
    value between two stops. `most`, if given, returns the largest value that the controls before it
    allow.
    """

    min: float
    max: float
    value: float
    step: float = 1
    unit: str = ""
    log: bool = False
    whole: bool = False
    fine: bool = False
    most: Callable[[dict[str, Any]], float] | None = None

    def stops(self) -> list[float]:
        """All stops in rising order, including the initial value."""
        stops, value = {self.min, self.max, self.value}, self.min
        while value < self.max:
            stops.add(self._rounded(value))
            value = value * self.step if self.log else value + self.step
        return sorted(int(stop) if float(stop).is_integer() else stop for stop in stops)

    def _rounded(self, value: float) -> float:
        """Round a stop for display: 1, 1.3, 1.6, … 10, 13, 16, but keep 2, 4, … 256 as they are."""
        exact = not self.log or float(self.step).is_integer()
        stop = round(value, 9) if exact else float(f"{value:.2g}")
        return round(stop) if self.whole else stop

    def spec(self, values: dict[str, Any]) -> dict[str, Any]:
        """The data that the front end needs to show the control."""
        stops = self._reached(values)
        return {
            "stops": stops,
            "texts": [f"{words.significant(stop)} {self.unit}".strip() for stop in stops],
        }

    def _reached(self, values: dict[str, Any]) -> list[float]:
        """The stops that the other controls allow."""
        most = self.most(values) if self.most else self.max
        return [stop for stop in self.stops() if stop <= most]

    def accept(self, value: Any, values: dict[str, Any]) -> float:
        """The stop nearest to `value`, or `value` itself if the slider is fine.

        A value beyond what the other controls allow becomes the last stop that they allow. Raises
        `CourseError` if `value` is not a number from `min` to `max`.
        """
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not self.min <= value <= self.max:
            raise CourseError(
                f"{self.label} takes a number from {self.min} to {self.max}, not {value!r}."
            )
        stops = self._reached(values)
        if self.fine:
            return min(value, stops[-1])
        after = bisect.bisect_left(stops, value)
        return min(stops[max(after - 1, 0) : after + 1], key=lambda stop: abs(stop - value))


@dataclass(frozen=True)
class Choice(_Labelled):
    """One of a few named `options`."""

    options: tuple[str, ...]
    value: str

    def spec(self, values: dict[str, Any]) -> dict[str, Any]:
        """The data that the front end needs to show the control."""
        return {"options": list(self.options)}

    def accept(self, value: Any, values: dict[str, Any]) -> str:
        """Return `value`; raise `CourseError` if it is not an option."""
        if value not in self.options:
            raise CourseError(f"{self.label} is one of {', '.join(self.options)}, not {value!r}.")
        return value


@dataclass(frozen=True)
class Toggle(_Labelled):
    """On or off."""

    value: bool = True

    def accept(self, value: Any, values: dict[str, Any]) -> bool:
        """Return `value`; raise `CourseError` if it is neither True nor False."""
        if not isinstance(value, bool):
            raise CourseError(f"{self.label} is True or False, not {value!r}.")
        return value


@dataclass(frozen=True)
class Steps(_Labelled):
    """An animation of pictures 0 … count-1, played at one step per second.

    `count` may depend on the other values.
    """

    count: int | Callable[[dict[str, Any]], int]
    value: int = 0

    def last(self, values: dict[str, Any]) -> int:
        """The number of the last picture if the other controls have `values`."""
        return (self.count(values) if callable(self.count) else self.count) - 1

    def spec(self, values: dict[str, Any]) -> dict[str, Any]:
        """The data that the front end needs to show the control."""
        return {"last": self.last(values)}

    def accept(self, value: Any, values: dict[str, Any]) -> int:
        """Return `value`, or the last step if the other controls allow fewer steps.

        Raises `CourseError` if `value` is not a whole number from 0 on.
        """
        if not _is_count(value):
            raise CourseError(f"{self.label} is a step, counted from 0, not {value!r}.")
        return min(value, self.last(values))


@dataclass(frozen=True)
class Fields(_Labelled):
    """Text fields, one for each of the `names`, which depend on the other values."""

    names: Callable[[dict[str, Any]], Sequence[str]]
    value: tuple[str, ...] = ()

    def spec(self, values: dict[str, Any]) -> dict[str, Any]:
        """The data that the front end needs to show the control."""
        return {"names": list(self.names(values))}

    def accept(self, value: Any, values: dict[str, Any]) -> list[str]:
        """Return one text for each name, "" where `value` has none.

        Raises `CourseError` if `value` is not a list of texts.
        """
        if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
            raise CourseError(f"{self.label} is a list of texts, not {value!r}.")
        count = len(self.names(values))
        return [*value, *[""] * count][:count]


@dataclass(frozen=True)
class Button(_Labelled):
    """A button; its value is the number of times it was pressed."""

    value: int = 0

    def accept(self, value: Any, values: dict[str, Any]) -> int:
        """Return `value`; raise `CourseError` if it is not a count."""
        if not _is_count(value):
            raise CourseError(f"{self.label} takes how often it was pressed, not {value!r}.")
        return value


def _is_count(value: Any) -> bool:
    """Whether a value is a whole number from 0 on."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


Control = Slider | Choice | Toggle | Steps | Fields | Button
