"""Write counts, times and sizes for a reader."""

import math
from collections.abc import Collection

MIB, GIB = 2**20, 2**30
SHOWN_RANKS = 8  # the most that a sentence lists
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def significant(value: float, digits: int = 2) -> str:
    """`value` with at least `digits` significant digits, thousands separated, never an exponent."""
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return str(value)
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def power(base: int, exponent: int) -> str:
    """A power with a raised exponent: '2⁻⁵', '10⁸'."""
    return f"{base}{str(exponent).translate(SUPERSCRIPTS)}"


def plural(count: int, noun: str) -> str:
    """A count with its noun: '1 rank', '3 ranks', '2 processes'."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun}es" if noun.endswith(("s", "x", "ch")) else f"{count} {noun}s"


def milliseconds(ms: float) -> str:
    """A time in ms with two significant digits, or three from 100 ms on."""
    return f"{significant(ms, 2 if ms < 100 else 3)} ms"


def duration(seconds: float, digits: int = 3) -> str:
    """A short time in the unit that suits it: '250 µs', '3.2 ms', '1.25 s', '0 s'."""
    if seconds == 0:
        return "0 s"
    for unit, factor in (("µs", 1e6), ("ms", 1e3)):
        if seconds * factor < 999.5:
            return f"{significant(seconds * factor, digits)} {unit}"
    return f"{significant(seconds, digits)} s"


def time_unit(longest: float) -> tuple[str, float]:
    """The unit for an axis of times up to `longest` seconds, and how many of it are a second."""
    if longest < 1e-3:
        return "µs", 1e6
    return ("ms", 1e3) if longest < 1 else ("s", 1.0)


def long_duration(seconds: float) -> str:
    """A time long enough to wait for: '40 s', '12 min', '3 h 20 min', '2 d 4 h'."""
    if seconds < 90:
        return f"{max(0, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def size(count: float, digits: int = 2) -> str:
    """A number of bytes in the binary unit that suits it: '512 B', '16 MiB', '79.6 GiB'."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if round(count) < 1024:
            return f"{significant(count, digits)} {unit}"
        count /= 1024
    return f"{significant(count, digits)} TiB"


def gib(count: float) -> str:
    """A number of bytes in GiB whatever its size, to compare at a glance: '79.6 GiB', '0.5 GiB'."""
    return f"{significant(count / GIB, 3)} GiB"


def ranks(ranks: Collection[int], capital: bool = False) -> str:
    """Ranks in words: "rank 1", "ranks 1 and 3", "ranks 0 to 6"; of many, the first eight."""
    ranks = sorted(ranks)
    lead = "Rank" if capital else "rank"
    if len(ranks) == 1:
        return f"{lead} {ranks[0]}"
    if len(ranks) > 2 and ranks == list(range(ranks[0], ranks[-1] + 1)):
        return f"{lead}s {ranks[0]} to {ranks[-1]}"
    if len(ranks) > SHOWN_RANKS:
        *shown, last = *ranks[:SHOWN_RANKS], f"{len(ranks) - SHOWN_RANKS} more"
    else:
        *shown, last = ranks
    return f"{lead}s {', '.join(map(str, shown))} and {last}"
