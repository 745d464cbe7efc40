"""Sentences in lines of a terminal's width."""

from textwrap import wrap

WIDTH = 100  # characters


def paragraph(text: str, first: str = "", rest: str = "    ") -> str:
    """The text in lines of at most `WIDTH`; `first` and `rest` are what these begin with."""
    lines = wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines) or first
