"""The lab's script that looks at a node before a launch: its GPUs, and the meeting place."""

import runpy
import socket
import sys

import torch

from course.given import preflight


def test_a_gpu_that_computes_and_one_that_does_not_are_told_apart(monkeypatch, capsys):
    ones = torch.ones

    def broken(size: int, device: str) -> torch.Tensor:
        if device == "cuda:1":
            raise RuntimeError("CUDA error: uncorrectable ECC error\nand how to debug it")
        return ones(size)

    monkeypatch.setattr(torch, "ones", broken)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda gpu: (70 << 30, 80 << 30))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda gpu: "H100")
    monkeypatch.setattr(sys, "argv", ["preflight.py", "localhost:9"])
    runpy.run_path(preflight.__file__, run_name="__main__")
    lines = [line.split(maxsplit=1)[1] for line in capsys.readouterr().out.splitlines()]
    assert "ok  GPU 0 computes: H100, 70 of 80 GiB free" in lines
    assert "NO  GPU 1: CUDA error: uncorrectable ECC error" in lines
    assert "2 GPUs, driver" in lines[-1]


def test_a_port_that_is_taken_before_the_launch_is_not_fine(capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        preflight.check_endpoint("127.0.0.1", other.getsockname()[1])
    assert "  NO  something listens at 127.0.0.1:" in capsys.readouterr().out
