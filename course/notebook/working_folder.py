"""Where a notebook runs: its scripts belong in the folder `src` next to it."""

import os
from collections.abc import Mapping
from pathlib import Path

FIRST = "labs/start.ipynb"  # what only the folder of the whole course has


def enter(names: Mapping[str, object]) -> None:
    """Make the notebook's own folder the working folder, if the editor tells which it is.

    JupyterLab and most other programs start a kernel there; Visual Studio Code may be set to start
    it elsewhere, and leaves the notebook's path in `names`, the variables of the notebook. If a
    kernel runs in the folder of the whole course, and nothing says for which notebook, a sentence
    tells what to do. Another does if nothing can be written.
    """
    notebook = Path(str(names.get("__vsc_ipynb_file__", "")))
    here = Path.cwd()
    if notebook.is_file() and notebook.is_absolute():
        if notebook.parent.resolve() != here.resolve():
            os.chdir(notebook.parent)
            print(f"The working folder is now that of the notebook: {notebook.parent}")
    elif (here / FIRST).is_file():
        print(
            f"This notebook runs in {here}, so its scripts would go there. "
            "Run `%cd labs` (or `%cd solutions`, for a notebook from there) before you go on."
        )
    if not os.access(".", os.W_OK):
        print(
            f"The folder {Path.cwd()} is read-only, so you cannot write scripts here: copy the "
            "whole course to a folder of your own, and open the notebook there."
        )
