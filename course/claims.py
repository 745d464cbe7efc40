"""The table that ends a lab: what is claimed, and what this machine measured."""

import html
from collections.abc import Sequence

from course import palette


class Claims:
    """Pairs of a claim and what was measured here; a notebook shows a table."""

    def __init__(self, rows: Sequence[tuple[str, str]]) -> None:
        self.rows = list(rows)

    def __repr__(self) -> str:
        return "\n".join(f"{claim}\n    measured here: {measured}" for claim, measured in self.rows)

    def _repr_html_(self) -> str:
        cell = "text-align:left;vertical-align:top;padding:6px 10px;background:transparent"
        line = f"border-top:1px solid {palette.RULE}"
        rows = "".join(
            f'<tr style="background:transparent"><td style="{cell};{line};width:50%">{html.escape(claim)}</td>'
            f'<td style="{cell};{line}">{html.escape(measured)}</td></tr>'
            for claim, measured in self.rows
        )
        return (
            f'<table style="background:{palette.CARD};color:{palette.INK};border:1px solid {palette.RULE};'
            f'border-collapse:collapse;max-width:760px;width:100%"><tr style="background:transparent">'
            f'<th style="{cell}">claim</th><th style="{cell}">measured here</th></tr>{rows}</table>'
        )


def claims(rows: Sequence[tuple[str, str]]) -> Claims:
    """The table of (claim, what was measured here)."""
    return Claims(rows)
