"""The doctor reads facts from a machine, and copes with a machine that does not answer."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.machines import put
from support.patience import PATIENCE_S

from course.hardware.doctor import facts
from course.hardware.doctor.facts import Torch


def says(*command):
    """The doctor's finding on a stand-in for the process that reports on torch."""
    return facts.torch_says(subprocess.Popen(command, stdout=-1, stderr=-1, text=True))


def test_torch_is_asked_in_a_process_and_its_failure_told():
    def printed(code):
        return says(sys.executable, "-c", code)

    assert printed("print('noise'); print('{\"gloo\": true, \"gpus\": 2}')") == Torch(
        gloo=True, gpus=2
    )
    assert printed("raise OSError('libx.so is missing')").import_error == (
        "OSError: libx.so is missing"
    )
    assert printed("import os; os._exit(3)").import_error == "exit code 3"


FAKE_TORCH = """
import os, sys, time
class Tensor:
    def __init__(self, gpu): self.gpu = gpu
    def __matmul__(self, other): return self
    def sum(self): return self
    def item(self): {computing}
    total = 64**3
def ones(*_, device): return Tensor(device[1])
def device(*which): return which
class cuda:
    initialized = False
    def device_count(): return {in_cuda} if cuda.initialized else {in_driver}
    def init():
        cuda.initialized = True
        {starting}
    class nccl:
        def version(): return (2, 27, 5)
sys.modules['torch.cuda'] = cuda
"""


@pytest.mark.parametrize(
    ("gpus", "computing", "expected"),
    [
        ((0, 0), "raise AssertionError('no GPU is to be used')", Torch(True)),
        ((2, 2), "return self.total", Torch(True, "2.27.5", 2)),
        ((3, 2), "return self.total", Torch(True, "2.27.5", 2)),
        (
            (2, 2),
            "raise RuntimeError('no kernel image\\nmore')",
            Torch(True, "2.27.5", 2, {0: "no kernel image", 1: "no kernel image"}),
        ),
        ((1, 1), "raise RuntimeError", Torch(True, "2.27.5", 1, {0: "RuntimeError"})),
        (
            (2, 2),
            "return self.total - 2 * self.gpu",
            Torch(True, "2.27.5", 2, {1: "its sum is 262142 and should be 262144"}),
        ),
        (
            (3, 3),
            "return self.total if self.gpu != 1 else os._exit(139)",
            Torch(True, "2.27.5", 3, {1: "it does not answer"}),
        ),
        (
            (3, 3),
            "return self.total if self.gpu != 1 else time.sleep(60)",
            Torch(True, "2.27.5", 3, {1: "it does not answer"}),
        ),
    ],
    ids=["none", "two", "CUDA has one less", "error", "no words", "wrong", "crash", "hang"],
)
def test_torch_computes_on_every_gpu_after_cuda_was_initialized(
    tmp_path, monkeypatch, gpus, computing, expected
):
    fake_torch(tmp_path, monkeypatch, gpus, computing=computing)
    limit, torch = 2, None
    while torch != expected and limit < PATIENCE_S:  # a busy machine: it had not come that far
        limit *= 2 if "sleep" in computing else 100
        monkeypatch.setattr(facts, "TORCH_LIMIT_S", limit)
        torch = says(*facts.ASK_TORCH)
    assert torch == expected


@pytest.mark.parametrize(
    ("starting", "reason"),
    [
        ("raise RuntimeError('Error 802: system not yet initialized')", "Error 802: system not"),
        ("os._exit(1)", "CUDA does not start"),
    ],
)
def test_a_cuda_that_does_not_start_is_told_for_every_gpu(tmp_path, monkeypatch, starting, reason):
    fake_torch(tmp_path, monkeypatch, (2, 2), starting=starting)
    torch = says(*facts.ASK_TORCH)
    assert torch.gpus == 2 and list(torch.faults) == [0, 1]
    assert all(fault.startswith(reason) for fault in torch.faults.values())


def fake_torch(folder, monkeypatch, gpus, computing="return self.total", starting="pass"):
    """A module `torch` for a machine with GPUs, as the driver and as CUDA count them."""
    in_driver, in_cuda = gpus
    code = FAKE_TORCH.format(
        computing=computing, starting=starting, in_driver=in_driver, in_cuda=in_cuda
    )
    put(folder, "torch/__init__.py", code)
    put(
        folder,
        "torch/distributed.py",
        "is_available = is_gloo_available = lambda: True\n"
        f"is_nccl_available = lambda: {in_driver} > 0\n",
    )
    monkeypatch.setenv("PYTHONPATH", str(folder))


def test_a_torch_that_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(facts, "TORCH_LIMIT_S", 0.2)
    torch = says(sys.executable, "-c", "import time; time.sleep(60)")
    assert torch.import_error == "it took more than 0.2 s" and torch.late


def test_facts_read_here(tmp_path, monkeypatch):
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
            release.wait()
        if host not in addresses:
            raise socket.gaierror("unknown")
        return addresses[host]

    monkeypatch.setattr(socket, "gethostbyname", lookup)
    monkeypatch.setattr(facts, "LOOKUP_LIMIT_S", PATIENCE_S)
    assert facts.host_error("here") is None
    assert (
        facts.host_error("there") == "leads to 192.0.2.1, which is not an address of this machine"
    )
    assert facts.host_error("nobody") == "leads to no address"
    monkeypatch.setattr(facts, "LOOKUP_LIMIT_S", 0.2)
    assert facts.host_error("slow") == "takes more than 0.2 s to look up"
    release.set()
