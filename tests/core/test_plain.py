"""Dataclasses that went through JSON become what they were."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

import pytest

from course.core import from_plain

Colour = StrEnum("Colour", "RED BLUE")


@dataclass
class Dot:
    """A dataclass inside another."""

    x: int
    colour: Colour = Colour.RED


@dataclass
class Picture:
    """Fields of all kinds that are converted, and one that stays plain."""

    first: Dot | None
    rows: list[list[Dot]]
    colour: Colour | None
    names: dict[str, int]


@pytest.mark.parametrize(("first", "colour"), [(None, None), (Dot(4), Colour.BLUE)])
def test_an_object_comes_back_from_json(first: Dot | None, colour: Colour | None) -> None:
    picture = Picture(first, [[Dot(1), Dot(2)], []], colour, {"a": 1})
    back = from_plain(Picture, json.loads(json.dumps(asdict(picture))))
    assert back == picture
    assert back.colour is colour and back.rows[0][0].colour is Colour.RED


@pytest.mark.parametrize("raw", [{}, {"x": 1, "y": 2}, {"x": 1, "colour": "no"}, [], "x", 1, None])
def test_other_data_is_refused(raw: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        from_plain(Dot, raw)
