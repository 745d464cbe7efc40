"""Wrap sentences to the width of a terminal."""

from textwrap import wrap

WIDTH = 100  # characters


def paragraph(text: str, first: str = "", rest: str = "    ") -> str:
    """Wrap text to `WIDTH`; the first line begins with `first`, and all others with `rest`."""
    lines = wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines) or first
