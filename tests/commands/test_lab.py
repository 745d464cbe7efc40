"""``python -m course lab``: JupyterLab with the course's settings, at the first notebook."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from http.client import HTTPResponse
from pathlib import Path
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import pytest
from support.patience import until

from course.commands import lab
from course.core.files import ROOT
from course.launch.process_tree import end_with_parent

pytestmark = pytest.mark.slow

# Simulates a JupyterLab that has ended, except for an idle thread.
ENDED = """
import threading
from types import SimpleNamespace
from jupyterlab.labapp import LabApp
from course.commands import lab

server = SimpleNamespace(
    static_custom_path=[],
    contents_manager=SimpleNamespace(register_pre_save_hook=lambda hook: None),
    identity_provider=SimpleNamespace(token_generated=True),
    start=lambda: threading.Thread(target=threading.Event().wait).start(),
)
LabApp.initialize_server = lambda argv: server
lab.examine = lambda: print("examined")
lab.lab_folder = lambda here: here
lab.main([])
"""
NO_PASSWORD = {"JUPYTER_TOKEN": ""}  # a token that the user has set


def test_without_a_display_no_browser_is_looked_for():
    assert "--no-browser" in lab.options(ROOT, "linux", {})
    assert "--no-browser" not in lab.options(ROOT, "linux", {"DISPLAY": ":0"})
    assert "--no-browser" not in lab.options(ROOT, "darwin", {})


def test_jupyter_gets_the_courses_settings_before_the_users_and_finds_the_courses_programs_first():
    got = lab.environment({"PATH": "/usr/bin", "JUPYTER_CONFIG_PATH": "/mine"})
    assert got["PATH"].split(":") == [str(Path(sys.executable).parent), "/usr/bin"]
    assert got["JUPYTER_CONFIG_PATH"].split(":") == [str(lab.SETTINGS), "/mine"]
    assert lab.environment({})["JUPYTER_CONFIG_PATH"] == str(lab.SETTINGS)


def test_a_doctor_that_hangs_is_said_and_stops_nothing(monkeypatch, capsys):
    monkeypatch.setattr(lab, "DOCTOR_LIMIT_S", 0.01)
    lab.examine()
    assert "did not end" in capsys.readouterr().out


def test_no_thread_of_the_servers_keeps_a_lab_that_has_ended(tmp_path):
    done = subprocess.run([sys.executable, "-c", ENDED], cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"examined\n", b"")


def test_only_this_machine_can_reach_the_server_unless_an_option_says_otherwise():
    settings = json.loads((lab.SETTINGS / "jupyter_server_config.json").read_text())
    assert settings["ServerApp"]["ip"] == "127.0.0.1"


def test_the_lab_opens_at_the_first_notebook_behind_a_token_takes_options_and_asks_for_no_news(
    tmp_path,
):
    server = subprocess.Popen(
        [sys.executable, "-m", "course", "lab", "--no-browser", "--ip", "localhost"],
        cwd=ROOT,
        env=os.environ | NO_PASSWORD | {"JUPYTER_CONFIG_DIR": str(tmp_path)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=end_with_parent,
    )
    try:
        printed = list(up_to(r"http://localhost:\d+\S+token=\w+", server.stdout))
        page, token = printed[-1].strip().split("?")
        assert page.endswith("/lab/tree/labs/start.ipynb")
        assert any(line.startswith("Labs ") for line in printed)  # the doctor's
        assert visit(f"{page}?{token}").status == 200
        assert "/login" in visit(page).url
        settings = page.replace("/lab/tree/labs/start.ipynb", "/lab/api/settings")
        plugin = json.load(visit(f"{settings}/@jupyterlab/apputils-extension:notification?{token}"))
        defaults = {
            name: plugin["schema"]["properties"][name]["default"]
            for name in ("fetchNews", "checkForUpdates")
        }
        assert defaults == {"fetchNews": "false", "checkForUpdates": False}
    finally:
        server.terminate()
        server.communicate()


def visit(url: str) -> HTTPResponse:
    """The answer of a server, which prints its address a moment before it listens."""
    answers = []

    def answered() -> bool:
        try:
            answers.append(build_opener(ProxyHandler({})).open(url))
        except URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise
        return bool(answers)

    until(answered, every=0.1)
    return answers[0]


def up_to(pattern: str, lines: Iterable[str]) -> Iterator[str]:
    """The lines up to and including the first one that matches the pattern."""
    for line in lines:
        yield line
        if re.search(pattern, line):
            return
    pytest.fail(f"no line has {pattern}")
