"""Take the two pictures that no code of the course draws.

    PYTHONPATH=tests python tests/tools/take_pictures.py

images/lab_03.png is the README's: JupyterLab with the solved lab 03, an explorable on the left, a
script and its run on the right. course/commands/web/static/preview.png is what a link to the site
shows elsewhere. Needs Chromium and playwright; look at both before you commit them.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from support.chromium import CHROMIUM, FLAGS
from support.launching import PATIENCE_S, until

from course.commands.lab import SETTINGS, trust
from course.core import ROOT

LAB = "03_distributed_data_parallel.ipynb"
SCREEN = {"width": 1400, "height": 900}
PREVIEW = {"width": 1200, "height": 630}  # what Open Graph and the sites that read it ask for
PREVIEW_PAGE = """<style>
    body {{ margin: 0; padding: 46px 60px; font-family: "DejaVu Sans", sans-serif; color: #fff;
           background: #0b5c99; box-sizing: border-box; height: 630px; overflow: hidden; }}
    h1 {{ font-size: 46px; margin: 0 0 10px; }}
    p {{ font-size: 25px; margin: 0 0 28px; }}
    div {{ height: 400px; overflow: hidden; border-radius: 14px; }}
    svg {{ width: 1080px; height: auto; display: block; }}
</style>
<h1>Training on several GPUs, by doing it</h1>
<p>Labs in Jupyter: pictures that move, scripts that run, checks.</p>
<div>{drawing}</div>"""
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
RUN_LINE = "stages = %torchrun"


def main() -> None:
    """Write both pictures."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = chromium.new_page(viewport=PREVIEW)
        drawing = (ROOT / "images" / "buckets.svg").read_text(encoding="utf-8")
        page.set_content(PREVIEW_PAGE.format(drawing=drawing))
        page.screenshot(path=ROOT / "course" / "commands" / "web" / "static" / "preview.png")
        with tempfile.TemporaryDirectory(prefix="course-pictures-") as folder:
            _take_lab(chromium.new_page(viewport=SCREEN), Path(folder))
        chromium.close()


def _take_lab(page: Page, folder: Path) -> None:
    """JupyterLab with two views of the solved lab, which lies in a copy in `folder`."""
    for name in ("labs", "solutions", "images"):
        shutil.copytree(ROOT / name, folder / name)
    trust(folder / "solutions")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = [f"--port={port}", f"--ServerApp.root_dir={folder}", "--IdentityProvider.token=you"]
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", *options],
        cwd=folder,
        env=os.environ | {"JUPYTER_CONFIG_PATH": str(SETTINGS)},
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
    """Whether something answers on a port of this machine."""
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
        (1, ".jp-CodeCell", RUN_LINE, 520),
    ):
        while not page.evaluate(SHOW, [view, selector, text, below]):
            page.wait_for_timeout(300)
    page.wait_for_timeout(2000)


if __name__ == "__main__":
    main()
