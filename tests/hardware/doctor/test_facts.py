"""What the doctor reads from a machine, and what it makes of a machine that does not answer."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from course.hardware.doctor import facts
from course.hardware.doctor.facts import Torch


def test_torch_is_asked_in_a_process_and_its_failure_told():
    def says(code):
        return facts.torch_says(
            subprocess.Popen([sys.executable, "-c", code], stdout=-1, stderr=-1, text=True)
        )

    assert says("print('noise'); print('{\"gloo\": true, \"gpus\": 2}')") == Torch(
        gloo=True, gpus=2
    )
    assert says("raise OSError('libx.so is missing')").import_error == "OSError: libx.so is missing"
    assert says("import os; os._exit(3)").import_error == "exit code 3"


@pytest.mark.parametrize(
    ("gpus", "ones", "says"),
    [
        (0, "raise AssertionError('no GPU is to be used')", Torch(gloo=True)),
        (2, "return Tensor()", Torch(gloo=True, nccl="2.27.5", gpus=2)),
        (
            2,
            "raise RuntimeError('no kernel image\\nmore')",
            Torch(True, "2.27.5", 2, "no kernel image"),
        ),
        (2, "raise RuntimeError", Torch(True, "2.27.5", 2, "RuntimeError")),
    ],
)
def test_what_torch_is_asked(tmp_path, monkeypatch, gpus, ones, says):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(
        "class Tensor:\n    add = lambda self, _: self\n    item = lambda self: 2.0\n"
        f"def ones(*_, device):\n    {ones}\n"
        f"class cuda:\n    device_count = lambda: {gpus}\n"
        "    class nccl:\n        version = lambda: (2, 27, 5)\n"
    )
    (tmp_path / "torch" / "distributed.py").write_text(
        f"is_available = is_gloo_available = lambda: True\nis_nccl_available = lambda: {gpus} > 0\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    asked = subprocess.Popen(
        [sys.executable, "-c", facts.ASK_TORCH], stdout=-1, stderr=-1, text=True, cwd=tmp_path
    )
    assert facts.torch_says(asked) == says


def test_a_torch_that_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(facts, "TORCH_LIMIT_S", 0.2)
    asked = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"], stdout=-1, stderr=-1, text=True
    )
    assert facts.torch_says(asked).import_error == "it took more than 0.2 s"
    asked.kill()
    asked.communicate()


def test_facts_read_here(tmp_path, monkeypatch):
    assert (
        facts.version("no-such-package-at-all") is None
        and facts.version("pytest") == pytest.__version__
    )
    assert facts.space(tmp_path / "none") is None
    total, free = facts.space(tmp_path)
    assert 0 < free < total
    assert facts.loopback_error() is None
    assert facts.open_files() is None or facts.open_files() > 0
    assert (
        facts.write_error(tmp_path) is None and facts.write_error(tmp_path / "to" / "come") is None
    )
    assert os.listdir(tmp_path) == [], "the test file stays"


def test_a_folder_that_cannot_be_written_is_told():
    assert facts.write_error(Path("/proc/self")) is not None


def test_a_machine_that_cannot_reach_itself_is_told(monkeypatch):
    monkeypatch.setattr(
        socket, "create_connection", lambda *_, **__: (_ for _ in ()).throw(OSError("refused"))
    )
    assert facts.loopback_error() == "refused"


def test_host_names(monkeypatch):
    addresses = {"here": "127.0.0.1", "there": "192.0.2.1"}  # 192.0.2.0/24 is nobody's (RFC 5737)
    release = threading.Event()

    def lookup(host):
        if host == "slow":
            release.wait(5)
        if host not in addresses:
            raise socket.gaierror("unknown")
        return addresses[host]

    monkeypatch.setattr(socket, "gethostbyname", lookup)
    monkeypatch.setattr(facts, "LOOKUP_LIMIT_S", 0.2)
    assert facts.host_error("here") is None
    assert (
        facts.host_error("there") == "leads to 192.0.2.1, which is not an address of this machine"
    )
    assert facts.host_error("nobody") == "leads to no address"
    assert facts.host_error("slow") == "takes more than 0.2 s to look up"
    release.set()
