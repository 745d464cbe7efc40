"""A widget as the output of a cell, of an object that is no widget itself."""

from typing import Any

from ipywidgets import DOMWidget

MIMETYPE = "application/vnd.jupyter.widget-view+json"


def bundle(widget: DOMWidget) -> dict[str, Any]:
    """What a notebook shows the widget by.

    Widgets of ipywidgets 8 say it themselves; those of 7, which Colab has, do not.
    """
    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    return {MIMETYPE: view}
