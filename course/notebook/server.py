"""Find out whether the Jupyter server of this kernel can show pictures with sliders.

The page gets the code of anywidget from its server. The server may run in another Python than the
kernel (on a JupyterHub, or from conda's base), and anywidget may not be installed there.
"""

import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil
from IPython.core.interactiveshell import InteractiveShell
from jupyter_core import paths

from course.drawing import widget_view

# The extensions of JupyterLab that the page needs: each package, and its folder in labextensions.
EXTENSIONS = {"ipywidgets": "@jupyter-widgets/jupyterlab-manager", "anywidget": "anywidget"}


@dataclass(frozen=True)
class Server:
    """A JupyterLab in another environment: its `python`, and the packages that it `lacks`."""

    python: Path
    lacks: tuple[str, ...]

    def sentence(self) -> str:
        """The message for the learner: what cannot work, and how to install what is missing."""
        command = shlex.join([str(self.python), "-m", "pip", "install", *self.lacks])
        return (
            f"The Jupyter server of this page lacks {' and '.join(self.lacks)}, so pictures with "
            f"sliders cannot move here: type `{command}` in a terminal, then reload the page and "
            "run their cells again."
        )


def inspect(shell: InteractiveShell) -> None:
    """If the server lacks a package, print how to install it, and show explorables as pictures.

    They become widgets again once the package is installed. Nothing happens if the server is
    unknown, as in another editor or if it runs on another machine.
    """
    if server := incomplete_server():
        import anywidget  # slow to import

        print(server.sentence())
        shell.display_formatter.mimebundle_formatter.for_type(anywidget.AnyWidget, _bundle)


def _bundle(widget: object) -> object:
    """The MIME bundle for the page: the widget, or only its picture for an incomplete server."""
    data, metadata = widget._repr_mimebundle_()
    if incomplete_server():
        data = {kind: text for kind, text in data.items() if kind != widget_view.MIMETYPE}
    return data, metadata


def incomplete_server() -> Server | None:
    """The server if it lacks a package; None if it has all of them, or if it is unknown."""
    if "JPY_SESSION_NAME" not in os.environ:  # set by Jupyter servers, not by other programs
        return None
    try:
        python = _python(psutil.Process(int(os.environ.get("JPY_PARENT_PID") or os.getppid())))
    except (psutil.Error, ValueError):
        return None
    if python is None:
        return None
    kernel_folder = str(Path(sys.prefix, "share", "jupyter"))
    shared = [Path(path) for path in paths.jupyter_path() if path != kernel_folder]
    folders = [python.parents[1] / "share" / "jupyter", *shared]
    if not any((folder / "lab").is_dir() for folder in folders):
        return None
    present = {
        package
        for package, name in EXTENSIONS.items()
        if any((folder / "labextensions" / name).is_dir() for folder in folders)
    }
    lacks = tuple(package for package in EXTENSIONS if package not in present)
    return Server(python, lacks) if lacks else None


def _python(process: psutil.Process) -> Path | None:
    """The Python that a process was started with, by its path in the environment; None if none.

    The path is not resolved, because the environment's Python is often a link to another one.
    """
    typed = next(iter(process.cmdline()), "")
    program = typed if "/" in typed else shutil.which(typed, path=process.environ().get("PATH"))
    path = Path(process.cwd(), program) if program else Path()
    return path if path.name.startswith("python") else None
