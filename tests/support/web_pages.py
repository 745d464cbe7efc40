"""Serves the built site as a host would, visits its pages, and reads their links."""

import contextlib
import functools
import http.server
import shutil
import threading
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from support.chromium import CHROMIUM
from support.patience import PATIENCE_S

WALKED = [  # the marks of tests that build the pages and visit them
    pytest.mark.slow,
    pytest.mark.rest,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.skipif(shutil.which("npm") is None, reason="no npm on this machine"),
]

PYTHON_IS_THERE = "place => !place.querySelector('.explorable-status').textContent"


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder below ``/sub/``, without a log."""

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        """Answer with a file of the folder."""
        if not self.path.startswith("/sub/"):
            return self.send_error(404)
        self.path = self.path.removeprefix("/sub")
        return super().do_GET()


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the folder, and yield its address."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=folder)
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/sub/"
    server.shutdown()


@contextlib.contextmanager
def visitor(tab: object, address: str) -> Iterator[Callable]:
    """Yield what opens a page; assert that none fails, logs, or sends requests elsewhere."""
    wrong = []

    def note_request(request: object) -> None:
        if not request.url.startswith((address, "data:", "blob:", "about:")):
            wrong.append(f"asks for {request.url}")

    def note_message(message: object) -> None:
        if message.type in ("error", "warning"):
            wrong.append(f"says {message.text}")

    def failed(error: object) -> None:
        wrong.append(f"fails: {error}")

    def visit(name: str, scheme: str = "light", width: int = 1280) -> object:
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        tab.goto("about:blank")  # a new fragment of the open page would load nothing
        tab.goto(address + name)
        return tab

    listeners = {"request": note_request, "console": note_message, "pageerror": failed}
    for event, listener in listeners.items():
        tab.on(event, listener)
    yield visit
    tab.evaluate("() => localStorage.clear()")
    tab.goto("about:blank")
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    assert wrong == []


def drag(page: object, by: str, way: list[tuple[float, float]]) -> None:
    """Press at the first place, move along the others, and let go."""
    if by == "mouse":
        page.mouse.move(*way[0])
        page.mouse.down()
        for place in way[1:]:
            page.mouse.move(*place)
        return page.mouse.up()
    screen = page.context.new_cdp_session(page)
    for number, (x, y) in enumerate(way):
        event = {"type": "touchMove" if number else "touchStart", "touchPoints": [{"x": x, "y": y}]}
        screen.send("Input.dispatchTouchEvent", event)
    return screen.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


class Links(HTMLParser):
    """The links of a page, and the names on it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links, self.names = [], set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        values = dict(attributes)
        self.links += [values[key] for key in ("href", "src") if values.get(key)]
        self.names |= {values["id"]} if "id" in values else set()


# The key that changes a control, which may begin at its largest value.
KEY = """control => control.type === "checkbox" ? "Space"
    : control.type === "range" && control.value === control.max ? "ArrowLeft" : "ArrowRight"
"""


def moves(page, place) -> bool:
    """Whether a key pressed on some control changes the picture."""
    picture = place.locator("svg").first
    before = picture.inner_html()

    def has_moved() -> bool:
        page.wait_for_timeout(100)
        page.wait_for_function(PYTHON_IS_THERE, arg=place.element_handle())
        return picture.inner_html() != before

    for control in place.locator("input:not([disabled])").all():
        control.focus()
        page.keyboard.press(control.evaluate(KEY))
        if any(has_moved() for _ in range(30)):  # some controls change no picture
            return True
    return any(has_moved() for _ in range(int(10 * PATIENCE_S)))  # a busy machine draws later
