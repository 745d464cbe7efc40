"""The tool that measures `fit` on a GPU, as far as it can be tried without one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.launching import clean_environment
from support.ports import free_port
from tools import measure_fit_on_gpu as tool

from course.core import ROOT, words
from course.diagnostics.fit import overhead
from course.diagnostics.fit.account import add_up
from course.diagnostics.fit.record import Record, Storage

RANK = """import torch
from tools import measure_fit_on_gpu as tool
torch.cuda.synchronize = lambda: None
torch.cuda.max_memory_allocated = lambda: 3
torch.cuda.max_memory_reserved = lambda: 4
tool.rank([str(tool.SCRIPT), "cpu", "bert"])
"""


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho 512\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


def test_what_nvidia_smi_says(nvidia_smi: None) -> None:
    assert tool.in_use() == 512 * words.MIB


@pytest.mark.slow
@pytest.mark.sampled
def test_a_rank_ends_after_its_steps(nvidia_smi: None, tmp_path: Path) -> None:
    (tmp_path / "ranks").mkdir()
    alone = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1",
             "MASTER_PORT": str(free_port()), "MEASURED": str(tmp_path / "ranks"),
             "PYTHONPATH": f"{ROOT / 'tests'}:{ROOT}", "PATH": os.environ["PATH"]}  # fmt: skip
    env = clean_environment() | alone
    subprocess.run([sys.executable, "-c", RANK], env=env, check=True)
    measured = json.loads((tmp_path / "ranks" / "0.json").read_text())
    assert measured == {"allocated": 3, "reserved": 4, "used": 512 * words.MIB}


def test_a_row_has_what_is_predicted_and_measured() -> None:
    ranks = [{"allocated": 30 * words.MIB, "reserved": 40 * words.MIB, "used": 3000 * words.MIB}]
    account = add_up(Record([Storage(20 * words.MIB, "", "weights")], [(0, 20 * words.MIB)]))
    row = tool.compared("layers shard", account, 1000 * words.MIB, ranks * 2)
    whole = f"{20 + overhead.nbytes(2) / words.MIB:.1f}"
    assert row.split() == ["layers", "shard", "20.0", "30.0", "40.0", whole, "1000.0"]


def test_constants_are_what_is_used_and_no_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    def on_ranks(command: list[str], ranks: int = 2) -> list[dict]:
        return [{"used": 1500, "reserved": 100, "cublas": 40, "nccl": 600}] * ranks

    monkeypatch.setattr(tool, "on_ranks", on_ranks)
    assert list(tool.constants(1000).values()) == [400, 40, 300]


def test_what_was_measured_takes_the_place_of_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"CUDA context and kernels": 500 * words.MIB, "NCCL buffers": 7}
    (tmp_path / "measured.toml").write_text(tool.toml("NVIDIA H200", sizes))
    monkeypatch.setattr(overhead, "MEASURED", tmp_path / "measured.toml")
    monkeypatch.setattr(overhead, "every_part", overhead.every_part.__wrapped__)
    parts = {part.name: part for part in overhead.parts(2)}
    assert parts["CUDA context and kernels"].nbytes == 500 * words.MIB
    assert parts["NCCL buffers"].source == "measured on NVIDIA H200"
    assert parts["cuBLAS workspaces"].source == "from documents, not measured"
    assert len(overhead.parts(1)) == 2
