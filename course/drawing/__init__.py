"""One visual language: colours, SVG marks on a white card, ranks as lanes over time."""

from course.drawing.html_card import card
from course.drawing.lanes import Section, Span
from course.drawing.palette import ansi
from course.drawing.svg import Picture

__all__ = ["Picture", "Section", "Span", "ansi", "card"]
