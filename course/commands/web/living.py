"""An explorable on a page: its picture and its controls, driven by Python in the browser."""

import html
import json
from collections.abc import Iterator
from typing import Any

from course import explore


def state(name: str) -> explore.State:
    """The state of the explorable of this name, which draws it and its controls."""
    return explore.State(*getattr(explore, name).__wrapped__())


def living(name: str, values: dict[str, Any], mark: str = "", ahead: str = "") -> str:
    """HTML of an explorable with these `values`; other controls keep their initial values.

    `mark` is an attribute that static/alive.js knows: ``data-eager`` (Python starts when the page
    is idle) or ``data-address`` (the same, and the state is read from the address). `ahead` names a
    slider whose pictures are all included, so that it moves before Python is loaded.
    """
    drawn = state(name)
    accepted = drawn.accepted(values)
    initial = {"values": accepted, "controls": drawn.specs(accepted), "first": drawn.first}
    data = html.escape(json.dumps(initial))
    ready = list(_ahead(drawn, accepted, ahead)) if ahead else []
    script = f'<script type="application/json">{json.dumps(ready)}</script>' if ready else ""
    return (
        f'<div class="explorable-page" data-name="{name}" data-state="{data}" {mark}>'
        f"{drawn.picture(accepted)}{script}</div>"
    )


def _ahead(drawn: explore.State, values: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """Yield the picture at each stop of the slider `name`."""
    [spec] = [spec for spec in drawn.specs(values) if spec["name"] == name]
    for stop in spec["stops"]:
        moved = values | {name: stop}
        yield {"values": moved, "picture": str(drawn.picture(moved))}
