"""Take the one picture that no code of the course draws.

    PYTHONPATH=tests python tests/tools/take_pictures.py

images/lab_03.png is the README's: JupyterLab with the solved lab 03b, an explorable on the left, a
script and its run on the right. It takes Chromium and playwright. Look at it before you commit it.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from support.chromium import CHROMIUM, FLAGS
from support.jupyterlab import SERVE
from support.patience import PATIENCE_S, until
from support.ports import free_port

from course.commands.lab import trust
from course.core import ROOT

LAB = "03b_overlap.ipynb"
SCREEN = {"width": 1400, "height": 900}
# Scroll one of the two views of the notebook until the element that holds a text is near its top.
SHOW = """([view, selector, text, below]) => {
    const panel = document.querySelectorAll('.jp-NotebookPanel')[view];
    const scroller = panel.querySelector('.jp-WindowedPanel-outer');
    const found = [...panel.querySelectorAll(selector)].find(each => each.innerText.includes(text));
    if (!found) { scroller.scrollBy(0, 400); return false; }
    const gap = found.getBoundingClientRect().top - scroller.getBoundingClientRect().top - below;
    if (Math.abs(gap) < 3) return true;
    const before = scroller.scrollTop;
    scroller.scrollBy(0, gap);
    return scroller.scrollTop === before;
}"""
RUN_LINE = "real = %torchrun"
# Teachers have nbgrader, whose buttons no learner sees.
OFF = {"disabledExtensions": {"@jupyter/nbgrader": True}}


def main() -> None:
    """Write the picture."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        with tempfile.TemporaryDirectory(prefix="course-pictures-") as folder:
            _take_lab(chromium.new_page(viewport=SCREEN), Path(folder))
        chromium.close()


def _take_lab(page: Page, folder: Path) -> None:
    """Take JupyterLab with two views of the solved lab, from a copy of it in `folder`."""
    for name in ("labs", "solutions", "images"):
        shutil.copytree(ROOT / name, folder / name)
    trust((folder / "solutions").glob("*.ipynb"))
    page_config = folder / "settings" / "labconfig" / "page_config.json"
    page_config.parent.mkdir(parents=True)
    page_config.write_text(json.dumps(OFF))
    port = free_port()
    options = ["--no-browser", f"--port={port}", "--IdentityProvider.token=you"]
    server = subprocess.Popen(
        [sys.executable, "-c", SERVE, *options],
        cwd=folder,
        env=os.environ | {"JUPYTER_CONFIG_PATH": str(folder / "settings")},
        stderr=subprocess.DEVNULL,
    )
    page.set_default_timeout(PATIENCE_S * 1000)
    try:
        until(lambda: _listens(port), every=0.1)
        page.goto(f"http://127.0.0.1:{port}/lab/tree/solutions/{LAB}?token=you&reset")
        _arrange(page)
        page.screenshot(path=ROOT / "images" / "lab_03.png")
    finally:
        server.terminate()
        server.wait()


def _listens(port: int) -> bool:
    """Whether something listens on a port of this machine."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def _arrange(page: Page) -> None:
    """Bring the explorable alive on the left, and show a script and its run on the right."""
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]")
    for text in ("from course import", "explore.buckets()"):
        while not page.evaluate(SHOW, [0, ".jp-CodeCell", text, 100]):
            page.wait_for_timeout(200)
        page.locator(".jp-CodeCell", has_text=text).first.locator(".cm-content").click()
        page.keyboard.press("Control+Enter")
    page.wait_for_selector(".explorable input[type=range]")
    page.click(".lm-MenuBar-itemLabel:text-is('File')")
    page.click(".lm-Menu-itemLabel:text-is('New View for Notebook')")
    page.wait_for_function("() => document.querySelectorAll('.jp-NotebookPanel').length === 2")
    page.keyboard.press("Control+b")  # closes the list of files
    page.wait_for_timeout(2000)
    for view, selector, text, below in (
        (0, ".jp-MarkdownCell", "Why wait until backward is over?", 10),
        (1, ".jp-CodeCell", RUN_LINE, 556),
    ):
        while not page.evaluate(SHOW, [view, selector, text, below]):
            page.wait_for_timeout(300)
    page.wait_for_timeout(2000)


if __name__ == "__main__":
    main()
