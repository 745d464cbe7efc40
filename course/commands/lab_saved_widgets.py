"""A hook for Jupyter's server: keep the saved widgets of cells that have not run again.

JupyterLab saves only the widgets of cells that have run since the notebook was opened
(https://github.com/jupyter-widgets/ipywidgets/issues/3888). So a notebook that is opened the next
day, and saved before its cells run again, would lose its pictures.
"""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_server.services.contents.manager import ContentsManager

STATES = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
REFERENCE = re.compile(r'"IPY_MODEL_(\w+)"')  # in a widget's state: the id of a widget inside it


def keep(model: dict[str, Any], path: str, contents_manager: "ContentsManager") -> None:
    """Before a notebook is saved, add the states of its visible widgets that only the file has."""
    if model["type"] != "notebook":
        return
    notebook = model["content"]
    metadata = notebook["metadata"]
    states = metadata.get("widgets", {}).get(STATES, {}).get("state", {})
    missing = [name for name in _shown_widgets(notebook) if name not in states]
    if not missing:
        return
    try:
        file = Path(contents_manager.root_dir, path.lstrip("/"))
        saved = json.loads(file.read_text())["metadata"]["widgets"][STATES]
    except (OSError, ValueError, KeyError, TypeError):
        return  # it is new, or has no saved widgets
    widgets = metadata.setdefault("widgets", {})
    states = widgets.setdefault(STATES, {**saved, "state": {}})["state"]
    while missing:
        name = missing.pop()
        if name not in states and name in saved["state"]:
            states[name] = saved["state"][name]
            missing += REFERENCE.findall(json.dumps(states[name]))


def _shown_widgets(notebook: dict[str, Any]) -> set[str]:
    """The ids of the widgets in the outputs of a notebook."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    views = [output.get("data", {}).get(VIEW) for output in outputs]
    return {view["model_id"] for view in views if view}
