"""Lab 01: its scripts on GPUs, tested on a machine without one."""

import importlib
import runpy
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from support import solutions


@pytest.fixture
def lab_01(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the solved scripts of lab 01, which can be imported."""
    with solutions.importable(monkeypatch, tmp_path, "01_data_parallel"):
        yield tmp_path


def test_what_is_gathered_are_vectors_since_torch_warns_of_numbers(lab_01):
    on_rank = importlib.import_module("course.checks.lab_01.on_rank_loss_inside")
    model = importlib.import_module("loss_inside").WithLoss(on_rank.Classifier())
    assert [part.shape for part in model(**on_rank.labelled(5, 4, 3))] == [(1,), (1,)]


def test_more_devices_than_gpus_are_refused_in_a_sentence(lab_01, monkeypatch):
    devices = importlib.import_module("devices")
    monkeypatch.setattr(devices, "GPUS", 2)
    assert [device.index for device in devices.devices(2)] == [0, 1]
    with pytest.raises(ValueError, match=r"3 devices are more than the 2 GPUs of this machine\."):
        devices.devices(3)


def test_more_ranks_than_gpus_share_the_cpu(lab_01, monkeypatch):
    devices = importlib.import_module("devices")
    monkeypatch.setattr(devices, "GPUS", 2)
    assert {device.type for device in devices.devices(4, on_gpus=False)} == {"cpu"}


def test_the_clock_waits_for_every_gpu_that_takes_part(lab_01, monkeypatch):
    """In anatomy.py, a stage of the master waits for all GPUs, and one of a replica for its own."""
    waited, readings, rows = defaultdict(set), [], []  # GPUs by thread; by reading; what is logged

    def read_clock() -> float:
        readings.append(waited.pop(threading.get_ident(), set()))
        return len(readings) - 1.0

    devices = importlib.import_module("devices")
    monkeypatch.setattr(devices, "devices", lambda n: [torch.device("cpu", i) for i in range(n)])
    monkeypatch.setattr(devices, "GPUS", 2)
    monkeypatch.setattr(
        torch.cuda, "synchronize", lambda gpu: waited[threading.get_ident()].add(gpu.index)
    )
    monkeypatch.setattr("course.log", lambda **row: rows.append(row))
    monkeypatch.setattr(sys, "argv", ["anatomy.py", "--batch", "1", "--rounds", "1"])
    # With all its imports, before the clock is replaced.
    importlib.import_module("course.given.words")
    monkeypatch.setattr(time, "perf_counter", read_clock)
    runpy.run_path(str(lab_01 / "anatomy.py"))
    assert {row["stage"] for row in rows} >= {"scatter", "replicate", "forward", "reduce", "step"}
    for row in rows:
        taking_part = {row["device"]} if row["stage"] in ("forward", "backward") else {0, 1}
        for end in ("start_ms", "end_ms"):
            assert readings[int(row[end] / 1e3)] == taking_part, row


def test_on_the_cpu_backward_runs_in_the_thread_that_calls_it(lab_01):
    """So two virtual devices run backward at the same time, as the lab's table says."""
    devices = importlib.import_module("devices")
    ran_in = []

    class Noted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            ran_in.append(threading.current_thread().name)
            return gradient

    def step() -> None:
        Noted.apply(torch.ones(1, requires_grad=True)).backward()

    where = [torch.device("cpu", i) for i in range(2)]
    devices.parallel_apply([step] * 2, [()] * 2, [{}] * 2, where)
    assert set(ran_in) == {"cpu:0", "cpu:1"}
