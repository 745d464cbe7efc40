"""Rules that every picture must keep."""

import itertools
import xml.etree.ElementTree as ElementTree

from course.drawing import palette, svg

TITLE_CHARACTERS = 76  # what fits in the title of a card


def assert_fits(picture: str) -> None:
    """Assert that titles fit, nothing leaves the card, and no two texts overlap."""
    root = ElementTree.fromstring(picture)
    names = "{http://www.w3.org/2000/svg}"
    width, height = float(root.get("width")), float(root.get("height"))
    assert (
        root.get("role") == "img"
        and root.find(f"{names}title").text
        and root.find(f"{names}desc").text
    )
    assert svg.columns(root.find(f"{names}title").text) <= TITLE_CHARACTERS
    for rectangle in root.iter(f"{names}rect"):
        x, w = float(rectangle.get("x")), float(rectangle.get("width"))
        assert x >= 0 and x + w <= width
    boxes = []
    for words in root.iter(f"{names}text"):
        size, x, y = float(words.get("font-size")), float(words.get("x")), float(words.get("y"))
        # An underestimate, so that only real collisions count.
        wide = svg.columns(words.text) * size * 0.5
        left = x - {"end": wide, "middle": wide / 2}.get(words.get("text-anchor"), 0)
        assert left >= 0 and left + wide <= width and y <= height - 6, words.text
        boxes.append((left, left + wide, y - size * 0.7, y, words.text))
    for a, b in itertools.combinations(boxes, 2):
        assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2], (a, b)


def assert_legible(picture: str) -> None:
    """Assert that each text has enough contrast to the last rectangle or circle drawn under it."""
    root = ElementTree.fromstring(picture)
    names = "{http://www.w3.org/2000/svg}"
    marks: list[tuple[float, float, float, float, str]] = []
    for mark in root.iter():
        kind, fill = mark.tag.removeprefix(names), mark.get("fill", "")
        if kind == "rect" and fill.startswith("#"):
            x, y, wide, high = (float(mark.get(key)) for key in ("x", "y", "width", "height"))
            marks.append((x, x + wide, y, y + high, fill))
        elif kind == "circle" and fill.startswith("#"):
            x, y, radius = (float(mark.get(key)) for key in ("cx", "cy", "r"))
            marks.append((x - radius, x + radius, y - radius, y + radius, fill))
        elif kind == "text":
            size = float(mark.get("font-size"))
            x, y = float(mark.get("x")), float(mark.get("y")) - size / 3
            x += {"end": -size / 2, None: size / 2}.get(mark.get("text-anchor"), 0)
            under = [
                area[4] for area in marks if area[0] <= x <= area[1] and area[2] <= y <= area[3]
            ]
            assert palette.contrast(fill, under[-1]) >= 4.5, (mark.text, fill, under[-1])
