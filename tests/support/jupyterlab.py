"""JupyterLab in a browser, as a learner uses it: notebooks opened, cells run, notebooks saved."""

import contextlib
import json
import time
import urllib.request
from pathlib import Path

from support.patience import PATIENCE_S, until

IDLE = "() => document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'"
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
TERMINAL = "terminal.log"  # in the learner's folder: what JupyterLab prints to its terminal
LOST = "Error displaying widget: model not found"  # what JupyterLab shows for a saved widget
# `python -m course lab`, with the current folder as the folder of the labs.
SERVE = """import sys
from course.commands import lab
lab.lab_folder = lambda here: here
lab.main(sys.argv[1:])"""


def wait_for(url: str) -> None:
    """Wait until the server answers."""
    until(lambda: answers(url), every=0.1)


def answers(url: str) -> bool:
    """Whether the server answers already."""
    with contextlib.suppress(OSError):
        urllib.request.urlopen(f"{url}api?token=learner", timeout=10)
        return True
    return False


def open_notebook(page, server, path: str) -> None:
    """Open a notebook in JupyterLab and wait for its kernel: cells run earlier would be lost."""

    def is_kernel(socket) -> bool:
        return "/api/kernels/" in socket.url

    with page.expect_websocket(is_kernel) as kernel:
        page.goto(f"{server}lab/tree/{path}?token=learner&reset")
    kernel.value.wait_for_event("framereceived")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    page.wait_for_function(IDLE)


def open_the_next_day(page, server, path: str, saved) -> None:
    """End a notebook's kernel, open it again, and wait for saved output, which `saved` locates.

    JupyterLab loses saved widgets if the kernel connects while it looks for them: it then takes the
    kernel's widgets for all there are (ipywidgets#3231). So load it again, as INSTALL.md advises.
    """
    sessions = page.request.get(f"{server}api/sessions?token=learner").json()
    [yesterday] = [session["id"] for session in sessions if session["path"] == path]
    page.request.delete(f"{server}api/sessions/{yesterday}?token=learner")
    lost = page.get_by_text(LOST)
    for _ in range(5):
        open_notebook(page, server, path)
        saved.or_(lost).first.wait_for()
        if not lost.count():
            break
    saved.wait_for()


def menu(page, name: str, entry: str) -> None:
    """Choose an entry of JupyterLab's menu bar."""
    page.click(f"text={name} >> nth=0")
    page.click(f".lm-Menu-itemLabel:text-is('{entry}')")


def run_all(page, folder: Path, path: str) -> list[dict]:
    """Run all cells, wait for the last one, and save; return the code cells as saved."""
    menu(page, "Run", "Run All Cells")
    deadline = time.monotonic() + PATIENCE_S
    while True:  # a kernel may look idle before it has begun
        page.wait_for_timeout(1000)
        page.wait_for_function(IDLE, timeout=PATIENCE_S * 1000)
        page.keyboard.press("Control+s")
        page.wait_for_timeout(1500)
        every = json.loads((folder / path).read_text())["cells"]
        cells = [cell for cell in every if cell["cell_type"] == "code"]
        done = all(cell["execution_count"] for cell in cells)
        if done or errors(cells) or time.monotonic() > deadline:
            return cells


def errors(cells: list[dict]) -> list[str]:
    """The errors of the cells that are not meant to raise one."""
    counted = [cell for cell in cells if "raises-exception" not in cell["metadata"].get("tags", [])]
    return [
        output["evalue"]
        for cell in counted
        for output in cell["outputs"]
        if output["output_type"] == "error"
    ]
