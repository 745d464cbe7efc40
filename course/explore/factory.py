"""Make an explorable from a function that returns its drawing function and its controls.

The decorator also registers it, so that ``explore.NAME``, the gallery and the tests know it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import TYPE_CHECKING

from course.drawing import Picture
from course.explore.controls import Control

if TYPE_CHECKING:
    from course.explore.widget import Explorable

Description = tuple[Callable[..., Picture], dict[str, Control]]  # draws a state; its controls
EXPLORABLES: dict[str, Callable[..., Explorable]] = {}  # by name; each file of `pictures` adds one
VALUES = """

Keyword arguments are the controls' first values. A value that a control cannot take is a
`CourseError`, and so is a name that no control has."""


def explorable(describe: Callable[..., Description]) -> Callable[..., Explorable]:
    """Turn `describe` into the explorable of the same name: a function such as ``buckets(cap=5)``.

    `describe` takes the learner's own data, if any. It returns a function that draws a state, and
    the controls by name. The explorable takes the same data, and as keyword arguments the first
    values of the controls.
    """
    data_names = inspect.signature(describe).parameters

    @functools.wraps(describe)
    def make(*data: object, **values: object) -> Explorable:
        from course.explore.widget import Explorable  # only here, because it needs Jupyter

        named = {name: values.pop(name) for name in data_names if name in values}
        draw, controls = describe(*data, **named)
        return Explorable(draw, **controls).at(**values)

    make.__doc__ = inspect.getdoc(describe) + VALUES
    make.__signature__ = _signature(describe)
    EXPLORABLES[describe.__name__] = make
    return make


def _signature(describe: Callable[..., Description]) -> Signature:
    """The signature that Jupyter shows: the data, then each control with its first value."""
    data = list(inspect.signature(describe).parameters.values())
    _, controls = describe()
    values = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=control.value)
        for name, control in controls.items()
    ]
    return Signature([*data, *values])
