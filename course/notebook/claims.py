"""The table that ends a lab: what is claimed, what you guessed, and what this machine measured."""

import html
from collections.abc import Sequence

from course.drawing import html_card, palette
from course.notebook import guesses
from course.notebook.store import SRC

CLAIM, GUESSED, MEASURED = "claim", "you guessed", "measured here"


class Claims:
    """A table of claims and measurements, with `heads` as its column titles."""

    def __init__(self, rows: Sequence[Sequence[str]], heads: Sequence[str]) -> None:
        self.rows, self.heads = list(rows), heads

    def __repr__(self) -> str:
        lines = []
        for claim, *rest in self.rows:
            lines.append(claim)
            pairs = zip(self.heads[1:], rest, strict=True)
            lines += [f"    {head}: {text}" for head, text in pairs if text]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        line = f"border-top:1px solid {palette.RULE}"
        others = len(self.heads) - 1
        rows = [_row("th", self.heads, [""] * len(self.heads))]
        rows += [
            _row("td", row, [f";{line};width:50%", *[f";{line}"] * others]) for row in self.rows
        ]
        style = "border-collapse:collapse;max-width:760px;width:100%"
        return html_card.card("".join(rows), style, "table")


def _row(tag: str, texts: Sequence[str], styles: Sequence[str]) -> str:
    """A row of `tag` cells: th or td."""
    cell = f"text-align:left;vertical-align:top;padding:6px 10px;{html_card.CLEAR}"
    cells = "".join(
        f'<{tag} style="{cell}{style}">{html.escape(text)}</{tag}>'
        for text, style in zip(texts, styles, strict=True)
    )
    return f'<tr style="{html_card.CLEAR}">{cells}</tr>'


def claims(rows: Sequence[Sequence[str]]) -> Claims:
    """Make a table of (claim, measurement) pairs.

    A third item of a row names a question. If any of these questions was answered, the table has a
    column of guesses.
    """
    guesses_shown = [_guess_text(*row[2:]) for row in rows]
    if not any(guesses_shown):
        return Claims([tuple(row[:2]) for row in rows], (CLAIM, MEASURED))
    with_guesses = [(row[0], guess, row[1]) for row, guess in zip(rows, guesses_shown, strict=True)]
    return Claims(with_guesses, (CLAIM, GUESSED, MEASURED))


def _guess_text(name: str = "") -> str:
    """The learner's guess for the question `name`, with its unit; "" if there is none."""
    stored = guesses.read(name, SRC) if name else None
    return "" if stored is None or stored.guess is None else stored.shown(stored.guess, 4)
