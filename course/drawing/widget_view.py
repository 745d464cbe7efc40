"""A widget shown as a cell's output by an object that is not itself a widget."""

from typing import Any

from ipywidgets import DOMWidget

MIMETYPE = "application/vnd.jupyter.widget-view+json"


def bundle(widget: DOMWidget) -> dict[str, Any]:
    """The MIME bundle by which a notebook shows the widget.

    Widgets of ipywidgets 8 provide it themselves; those of version 7, which Colab has, do not.
    """
    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    return {MIMETYPE: view}
