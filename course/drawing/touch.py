"""Marks that a reader can touch: each sets a control of its explorable.

The widget turns them into buttons and handles for mouse, finger and keyboard; see `MARK` in
explore/widget.js. Without a widget they are ordinary marks.
"""

import json

from course.drawing import svg


def button(control: str, value: object, label: str) -> dict[str, str]:
    """The attributes of a mark that sets a control to `value`; `label` describes the effect."""
    return {"data_set": f"{control}={json.dumps(value)}", "data_label": label}


def handle(
    x: float, y: float, width: float, height: float, control: str, per_pixel: float, label: str
) -> str:
    """An area to drag sideways; each pixel to the right adds `per_pixel` to the slider."""
    moves = {"data_set": f"{control}+={per_pixel:.6g}", "data_label": label}
    return svg.rect(x, y, width, height, "transparent", rx=4, **moves)
