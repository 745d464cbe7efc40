"""Dataclasses that went through JSON become what they were."""

import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum

import pytest

from course.core import from_plain


class Colour(StrEnum):
    """A field of an enum."""

    RED = "red"


@dataclass
class Dot:
    """A dataclass inside another."""

    x: int
    colour: Colour = Colour.RED


@dataclass
class Line:
    """Every kind of field that is converted, and some that stay plain."""

    begin: Dot
    end: Dot | None
    dots: list[Dot]
    rows: list[list[Dot]]
    colour: Colour | None = None
    names: dict[str, int] = field(default_factory=dict)
    length: float | None = None


@pytest.mark.parametrize("end", [None, Dot(4)])
@pytest.mark.parametrize("colour", [None, Colour.RED])
def test_an_object_comes_back_from_json(end: Dot | None, colour: Colour | None) -> None:
    line = Line(Dot(1), end, [Dot(2), Dot(3)], [[Dot(5)], []], colour, {"a": 1}, 0.5)
    back = from_plain(Line, json.loads(json.dumps(asdict(line))))
    assert back == line
    assert back.colour is colour and back.dots[0].colour is Colour.RED


def test_a_missing_field_has_its_default() -> None:
    assert from_plain(Dot, {"x": 1}) == Dot(1)


@pytest.mark.parametrize(
    "raw", [{}, {"x": 1, "y": 2}, {"x": 1, "colour": "blue"}, [], [["x", 1]], "x", 1, None]
)
def test_other_data_is_refused(raw: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        from_plain(Dot, raw)
