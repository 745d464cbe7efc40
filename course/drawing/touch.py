"""Marks that a reader can touch: each says which control of its explorable it sets, and to what.

The widget makes buttons and handles of them, for a mouse, a finger and a keyboard; see `MARK` in
explore/widget.js. Without a widget they are marks like any others.
"""

import json

from course.drawing import svg


def button(control: str, value: object, label: str) -> dict[str, str]:
    """The attributes of a mark that sets a control to `value`; `label` says its effect."""
    return {"data_set": f"{control}={json.dumps(value)}", "data_label": label}


def handle(
    x: float, y: float, width: float, height: float, control: str, per_pixel: float, label: str
) -> str:
    """An area that drags a slider sideways: each pixel to the right adds `per_pixel` to it."""
    moves = {"data_set": f"{control}+={per_pixel:.6g}", "data_label": label}
    return svg.rect(x, y, width, height, "transparent", rx=4, **moves)
