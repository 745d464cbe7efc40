"""On a rank: read what a function of the script counts while it iterates over a loader.

A count of samples is a number that exists before the first batch and has grown after the last one.
The script may keep it in a local variable, in a dictionary, or in an object of its own class. If
nothing else grows along with a count, the script may only print it. If a list of answers grows, the
script can still drop some of them later. In both cases nothing is reported.
"""

import dis
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from numbers import Real
from types import CodeType, FrameType

from torch import Tensor

from course.diagnostics.watch.frames import outwards

MAX_NUMBERS = 500  # numbers that are read from a function


@dataclass(frozen=True)
class Counts:
    """The numbers and the lengths of lists in a function at one moment, by where they are kept.

    `codes` are the function and its callers, as far as they belong to the script.
    """

    codes: tuple[CodeType, ...]
    numbers: dict[tuple[str, ...], float]
    lists: dict[tuple[str, ...], int]

    def grown(self, after: "Counts") -> list[int]:
        """How much the numbers have grown until `after`, where that is a whole number.

        Empty if a list grew, if only one number did, or if `after` is from other functions.
        """
        longer = any(after.lists.get(name, 0) > length for name, length in self.lists.items())
        if after.codes != self.codes or longer:
            return []
        grown = [
            after.numbers[name] - value
            for name, value in self.numbers.items()
            if after.numbers.get(name, value) > value
        ]
        whole = {int(number) for number in grown if number == int(number)}
        return sorted(whole) if len(grown) > 1 else []

    @property
    def can_cut(self) -> bool:
        """Whether one of the functions slices something to a computed length."""
        return any(map(_can_cut, self.codes))


def counts(frame: FrameType | None, is_own: Callable[[CodeType], bool]) -> Counts | None:
    """Read the counts of the innermost function of the script on the stack of a frame."""
    frames = [caller for caller in outwards(frame) if is_own(caller.f_code)]
    if not frames:
        return None
    innermost = frames[0]
    numbers: dict[tuple[str, ...], float] = {}
    lists: dict[tuple[str, ...], int] = {}
    module_name = innermost.f_globals.get("__name__")
    for name, value in list(innermost.f_locals.items()):
        members = value if type(value) is dict else {}
        if type(value).__module__ == module_name and not isinstance(value, type):
            members = getattr(value, "__dict__", {})
        for place, item in [((name,), value), *(((name, str(k)), v) for k, v in members.items())]:
            if type(item) is list:
                lists[place] = len(item)
            elif len(numbers) < MAX_NUMBERS and (number := _number(item)) is not None:
                numbers[place] = number
    return Counts(tuple(caller.f_code for caller in frames), numbers, lists)


def _number(value: object) -> float | None:
    if isinstance(value, Tensor):
        plain = value.device.type == "cpu" and value.numel() == 1 and not value.is_complex()
        return float(value.detach()) if plain else None
    if isinstance(value, Real) and not isinstance(value, bool):  # includes numpy's numbers
        with suppress(OverflowError):
            number = float(value)
            return number if abs(number) < 2**53 else None
    return None


@lru_cache(maxsize=256)
def _can_cut(code: CodeType) -> bool:
    """Whether the code has a slice whose end is not a constant, such as ``x[:n]``."""
    return any(
        now.opname in ("BUILD_SLICE", "BINARY_SLICE") and last.opname != "LOAD_CONST"
        for last, now in pairwise(dis.get_instructions(code))
    )
