"""A white card for HTML output, so that it reads the same on light and dark themes."""

from course.drawing import palette

# The style of the card behind every table, form and list of the course.
PAPER = (
    f"background:{palette.CARD};color:{palette.INK};"
    f"border:1px solid {palette.RULE};border-radius:8px"
)
CLEAR = "background:transparent"  # for rows and cells, which JupyterLab would stripe


def card(content: str, style: str = "", tag: str = "div") -> str:
    """`content` (HTML) on a white card; `style` adds declarations such as ``padding:10px 14px``."""
    return f'<{tag} style="{PAPER};{style}">{content}</{tag}>'
