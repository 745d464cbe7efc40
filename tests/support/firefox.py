"""Firefox, driven by its own protocol, WebDriver BiDi (https://w3c.github.io/webdriver-bidi/).

Playwright drives only its own build of Firefox, and no package registry has geckodriver.
"""

import contextlib
import itertools
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from course.launch.process_tree import end_with_parent
from support.patience import PATIENCE_S, until

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
LISTENS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
EVENTS = ["log.entryAdded", "network.beforeRequestSent"]
KEYS = {"ArrowRight": "\ue014", "Control": "\ue009", "Enter": "\ue007"}  # of WebDriver


class Firefox:
    """A tab; `requests` lists the addresses it requests, `complaints` its warnings and errors."""

    def __init__(self, address: str) -> None:
        from websocket import create_connection

        # Firefox refuses web pages, and takes any client that sends an Origin header for one.
        self._socket = create_connection(address, timeout=PATIENCE_S, suppress_origin=True)
        self._ids = itertools.count()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=EVENTS)
        self._tab = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def call(self, method: str, **params: object) -> dict:
        """Send a command and return its result; record the events that arrive meanwhile."""
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == number:
                assert message["type"] == "success", message
                return message["result"]
            self._record(message.get("method"), message.get("params", {}))

    def _record(self, event: str | None, message: dict) -> None:
        if event == "network.beforeRequestSent":
            self.requests.append(message["request"]["url"])
        elif event == "log.entryAdded" and message["level"] in ("error", "warn"):
            self.complaints.append(message["text"])

    def visit(self, address: str) -> None:
        """Open a page, and wait until it has loaded."""
        self.call("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def run(self, expression: str) -> object:
        """The value of an expression on the page: a string, number, boolean or null."""
        target = {"context": self._tab}
        done = self.call("script.evaluate", expression=expression, target=target, awaitPromise=True)
        assert done["type"] == "success", done["exceptionDetails"]["text"]
        return done["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until an expression on the page is true."""
        end = time.monotonic() + PATIENCE_S
        while self.run(f"Boolean({expression})") is not True:
            assert time.monotonic() < end, f"never so: {expression}"
            time.sleep(0.1)

    def press(self, *keys: str) -> None:
        """Press keys together."""
        keys = [KEYS[key] for key in keys]
        actions = [{"type": "keyDown", "value": key} for key in keys]
        actions += [{"type": "keyUp", "value": key} for key in reversed(keys)]
        board = {"type": "key", "id": "keyboard", "actions": actions}
        self.call("input.performActions", context=self._tab, actions=[board])


@contextlib.contextmanager
def firefox(folder: Path) -> Iterator[Firefox]:
    """Run a new Firefox, whose profile is in `folder`, for the block."""
    command = [FIREFOX, "--headless", "--profile", str(folder), "--remote-debugging-port", "0"]
    log = folder / "log"
    with log.open("w") as output:
        process = subprocess.Popen(command, stderr=output, preexec_fn=end_with_parent)
    try:
        until(lambda: LISTENS.search(log.read_text()))
        yield Firefox(LISTENS.search(log.read_text())[1] + "/session")
    finally:
        process.terminate()
        process.wait()
