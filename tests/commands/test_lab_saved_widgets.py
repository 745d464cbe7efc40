"""A notebook keeps the widgets it shows, though JupyterLab saves only those with a kernel."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from course.commands import lab_saved_widgets
from course.commands.lab_saved_widgets import STATES, VIEW


def notebook(shown: list[str], states: dict | None) -> dict:
    """A notebook whose outputs show these widgets, with these saved states."""
    outputs = [{"data": {VIEW: {"model_id": name}}} for name in shown]
    cells = [{"cell_type": "markdown"}, {"outputs": [*outputs, {"text": "no widget"}]}]
    widgets = {} if states is None else {"widgets": {STATES: {"version_major": 2, "state": states}}}
    return {"cells": cells, "metadata": widgets}


def saved(folder: Path, before: object, new: dict) -> dict:
    """The saved states in a notebook after it has replaced another one."""
    (folder / "lab.ipynb").write_text(before if isinstance(before, str) else json.dumps(before))
    model = {"type": "notebook", "content": new}
    lab_saved_widgets.keep(model, "/lab.ipynb", SimpleNamespace(root_dir=str(folder)))
    return new["metadata"].get("widgets", {}).get(STATES, {}).get("state", {})


PICTURE = {"state": {"layout": "IPY_MODEL_layout"}}
BEFORE = notebook(["a", "b"], {"a": PICTURE, "b": {}, "layout": {}, "unused": {}})


@pytest.mark.parametrize("states", [None, {}])
def test_the_next_day_only_widgets_that_no_cell_shows_are_gone(tmp_path, states):
    assert saved(tmp_path, BEFORE, notebook(["a"], states)) == {"a": PICTURE, "layout": {}}


def test_a_cell_that_has_run_again_has_its_new_state(tmp_path):
    new = {"state": {"step": 2}}
    assert saved(tmp_path, BEFORE, notebook(["a", "b"], {"a": new})) == {"a": new, "b": {}}
    assert saved(tmp_path, BEFORE, notebook(["c"], {"c": new})) == {"c": new}


@pytest.mark.parametrize("before", ["", "[]", "{}", notebook(["a"], None)])
def test_a_notebook_without_saved_widgets_stays_as_it_is(tmp_path, before):
    new = notebook(["a"], None)
    assert saved(tmp_path, before, new) == {} and new == notebook(["a"], None)


def test_other_files_are_saved_as_they_are(tmp_path):
    model = {"type": "file", "content": "text"}
    lab_saved_widgets.keep(model, "lab.py", SimpleNamespace(root_dir=str(tmp_path)))
    assert model == {"type": "file", "content": "text"}
