"""Make sure that a notebook runs in its own folder, so that its scripts go to `src` there."""

import os
from collections.abc import Mapping
from pathlib import Path

START_NOTEBOOK = "labs/start.ipynb"  # exists only in the folder of the whole course


def enter(names: Mapping[str, object]) -> None:
    """Make the notebook's own folder the working folder, if the editor provides its path.

    JupyterLab and most other programs start a kernel there. Visual Studio Code may start it
    elsewhere, but puts the notebook's path into `names`, the variables of the notebook. If the
    kernel runs in the folder of the whole course and the notebook is unknown, print what to do.
    Do the same if the folder is read-only.
    """
    notebook = Path(str(names.get("__vsc_ipynb_file__", "")))
    here = Path.cwd()
    if notebook.is_file() and notebook.is_absolute():
        if notebook.parent.resolve() != here.resolve():
            os.chdir(notebook.parent)
            print(f"The working folder is now that of the notebook: {notebook.parent}")
    elif (here / START_NOTEBOOK).is_file():
        print(
            f"This notebook runs in {here}, so its scripts would go there. "
            "Run `%cd labs` (or `%cd solutions`, for a notebook from there) before you go on."
        )
    if not os.access(".", os.W_OK):
        print(
            f"The folder {Path.cwd()} is read-only, so you cannot write scripts here: copy the "
            "whole course to a folder of your own, and open the notebook there."
        )
