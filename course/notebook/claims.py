"""The table that ends a lab: what is claimed, and what this machine measured."""

import html
from collections.abc import Sequence

from course.drawing import palette

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
        cell = "text-align:left;vertical-align:top;padding:6px 10px;background:transparent"
        line = f"border-top:1px solid {palette.RULE}"
        rows = "".join(
            f'<tr style="background:transparent"><td style="{cell};{line};width:50%">{html.escape(claim)}</td>'
            f'<td style="{cell};{line}">{html.escape(measured)}</td></tr>'
            for claim, measured in self.rows
        )
        first, second = map(html.escape, self.heads)
        return (
            f'<table style="background:{palette.CARD};color:{palette.INK};border:1px solid {palette.RULE};'
            f'border-collapse:collapse;max-width:760px;width:100%"><tr style="background:transparent">'
            f'<th style="{cell}">{first}</th><th style="{cell}">{second}</th></tr>{rows}</table>'
        )


def claims(rows: Sequence[tuple[str, str]], heads: tuple[str, str] = HEADS) -> Claims:
    """The table of (claim, what was measured here), or of other pairs under their own `heads`."""
    return Claims(rows, heads)
