"""The table that ends a lab: what is claimed, and what this machine measured."""

import html
from collections.abc import Sequence

from course.drawing import html_card, palette

HEADS = ("claim", "measured here")


class Claims:
    """Pairs of a claim and what was measured here; a notebook shows a table under two `heads`."""

    def __init__(self, rows: Sequence[tuple[str, str]], heads: tuple[str, str] = HEADS) -> None:
        self.rows, self.heads = list(rows), heads

    def __repr__(self) -> str:
        return "\n".join(
            f"{claim}\n    {self.heads[1]}: {measured}" for claim, measured in self.rows
        )

    def _repr_html_(self) -> str:
        line = f"border-top:1px solid {palette.RULE}"
        rows = [_row("th", self.heads, ("", ""))]
        rows += [_row("td", row, (f";{line};width:50%", f";{line}")) for row in self.rows]
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


def claims(rows: Sequence[tuple[str, str]], heads: tuple[str, str] = HEADS) -> Claims:
    """The table of (claim, what was measured here), or of other pairs under their own `heads`."""
    return Claims(rows, heads)
