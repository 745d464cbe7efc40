"""Runs on the CPU use no GPU memory, although AdamW asks the GPU for its current stream."""

import pytest
from support.solutions import write

from course.launch.client import launch

# Makes AdamW see a GPU. A stream of a real GPU belongs to a context, which takes memory.
BOX = """
import os, runpy, sys
import torch

def gpu(check_available=False):
    return None if os.environ.get("CUDA_VISIBLE_DEVICES") == "" else torch.device("cuda")

def stream(device=None):
    raise AssertionError("a context on GPU 0")

torch.accelerator.current_accelerator, torch.accelerator.current_stream = gpu, stream
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lab", "command"),
    [
        (
            "04_ddp_in_practice",
            "python box.py train.py --gpus --pairs 32 --epochs 1 --snapshot one.pt",
        ),
        (
            "03_distributed_data_parallel",
            "torchrun --standalone --nproc-per-node 2 box.py equal.py",
        ),
        ("05_mixed_precision", "torchrun --standalone --nproc-per-node 2 box.py amp_stop.py"),
    ],
)
def test_a_run_on_the_cpu_opens_no_context_on_a_gpu(lab, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    write(lab, tmp_path)
    (tmp_path / "box.py").write_text(BOX)
    run = launch(command.split())
    assert run.ok, run.lines
