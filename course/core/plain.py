"""Make objects of dataclasses from the dicts that `asdict` returned, after a way through JSON."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import EnumType
from functools import cache, partial
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin

Kind = TypeVar("Kind")


def from_plain(kind: type[Kind], raw: dict[str, Any]) -> Kind:
    """Make an object of a dataclass; raises `TypeError` or `ValueError` if `raw` is not of one.

    A field may hold a dataclass or an enum, a list of these, or None; all else stays plain.
    """
    values = {name: make(raw[name]) for name, make in _makers(kind).items() if name in raw}
    return kind(**raw | values)


@cache
def _makers(kind: Any) -> dict[str, Callable[[Any], Any]]:
    """What makes the values of a dataclass's fields, by name, without those that stay plain."""
    makers = {field.name: _maker(field.type) for field in fields(kind)}
    return {name: make for name, make in makers.items() if make}


def _maker(kind: Any) -> Callable[[Any], Any] | None:
    """What makes a value of this type from plain data; None if it stays plain."""
    if is_dataclass(kind):
        return partial(from_plain, kind)
    if isinstance(kind, EnumType):
        return kind
    make = _maker(get_args(kind)[0]) if get_origin(kind) in (list, UnionType) else None
    if make is None:
        return None
    if get_origin(kind) is list:
        return lambda raw: [make(entry) for entry in raw]
    return lambda raw: None if raw is None else make(raw)
