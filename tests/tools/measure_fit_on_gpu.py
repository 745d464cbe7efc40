"""Measure on a GPU what `fit` predicts: the bytes of tensors, and the memory used beside them.

    PYTHONPATH=tests python tests/tools/measure_fit_on_gpu.py [--write]

Each model and cure of `scripts/cures.py` takes two steps on two ranks that share the GPU, a few
minutes in all. With `--write`, `fit` then takes the constants from `measured.toml` instead of the
documented ones. NCCL's constant is for two ranks over sockets, since they share a GPU here. This
tool was written without a GPU: its parts are tested, but it has not run on one yet.
"""

import argparse
import json
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from support import one_gpu
from torch import nn
from torch.optim import optimizer as optimizers

from course.core import words
from course.diagnostics.fit import client, overhead
from course.diagnostics.fit.account import Account
from course.diagnostics.fit.command import Script

SCRIPT = Path(__file__).parents[1] / "diagnostics" / "fit" / "scripts" / "cures.py"
MODELS = ("layers", "bert", "decoder")
CURES = ("", "batch", "autocast", "checkpoint", "shard", "offload")
CONSTANTS = "constants"  # the argument in place of a script
RANKS, STEPS, LIMIT_S = 2, 2, 120.0
HOW = {
    "CUDA context and kernels": "nvidia-smi's number after products of matrices, less torch's own",
    "cuBLAS workspaces": "what torch allocates for the first products of matrices",
    "NCCL buffers": "nvidia-smi's number after the first all-reduce of two ranks over sockets",
}
SEVERAL = {"NCCL buffers"}  # needed only with several ranks


def main() -> None:
    """Print a row for each run, and then the constants."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("There is no GPU here, so there is nothing to measure.")
    before = in_use()
    print(row("MiB on each rank", ["predicted", "allocated", "reserved", "with all", "nvidia-smi"]))
    for model in MODELS:
        for cure in CURES:
            command = ["cuda", model, *filter(None, [cure])]
            with client.open_client(Script(str(SCRIPT), command)) as rehearsals:
                account = rehearsals.rehearse(RANKS).account
            ranks = on_ranks([str(SCRIPT), *command])
            print(compared(f"{model} {cure}", account, before, ranks), flush=True)
    text = toml(torch.cuda.get_device_name(), constants(before))
    print(text)
    if args.write:
        overhead.MEASURED.write_text(text)


def in_use() -> int:
    """The bytes that all processes use on the GPU, according to nvidia-smi."""
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0]) * words.MIB


def on_ranks(command: list[str], ranks: int = RANKS) -> list[dict]:
    """Run the command on ranks; return what each measured, or raise `SystemExit` if one fails."""
    with tempfile.TemporaryDirectory() as name:
        env = {"MEASURED": name, "PYTHONPATH": os.pathsep.join(sys.path)}
        codes = one_gpu.run([sys.executable, __file__, "--rank", *command], ranks, LIMIT_S, **env)
        if codes != [0] * ranks:
            raise SystemExit(f"{' '.join(command)}: the ranks ended with {codes}")
        return [json.loads(path.read_text()) for path in sorted(Path(name).iterdir())]


def row(name: str, columns: Iterable[str]) -> str:
    """A line of the table."""
    return f"{name:20}" + "".join(f"{column:>12}" for column in columns)


def compared(name: str, account: Account, before: int, ranks: list[dict]) -> str:
    """The row of a run: what `fit` predicts, and the largest measured values."""
    allocated, reserved = (max(rank[key] for rank in ranks) for key in ("allocated", "reserved"))
    used = (max(rank["used"] for rank in ranks) - before) // len(ranks)
    with_all = account.reserved + overhead.nbytes(len(ranks))
    sizes = (account.peak, allocated, reserved, with_all, used)
    return row(name, [f"{size / words.MIB:.1f}" for size in sizes])


def constants(before: int) -> dict[str, int]:
    """The bytes that are used beside tensors, by the names in `overhead.toml`."""
    (alone,) = on_ranks([CONSTANTS], 1)
    nccl = max(rank["nccl"] for rank in on_ranks([CONSTANTS])) // RANKS
    sizes = (alone["used"] - before - alone["reserved"], alone["cublas"], nccl)
    return dict(zip(HOW, sizes, strict=True))


def toml(device: str, sizes: dict[str, int]) -> str:
    """The constants as text that `overhead.py` can read."""
    parts = [f"# Measured on {device} by tests/tools/measure_fit_on_gpu.py.\n"]
    for name, nbytes in sizes.items():
        several = str(name in SEVERAL).lower()
        parts.append(
            f'\n[[part]]\nname = "{name}"\nnbytes = {nbytes}\nhow = "{HOW[name]}"\n'
            f'device = "{device}"\nread = {date.today()}\nseveral = {several}\n'
        )
    return "".join(parts)


def rank(command: list[str]) -> None:
    """Be one of the ranks: run a script for its steps, or measure the constants."""
    file = Path(os.environ["MEASURED"], f"{os.environ['RANK']}.json")
    numbers = rank_constants() if command == [CONSTANTS] else rank_of_script(command)
    file.write_text(json.dumps(numbers))
    os._exit(0)  # no other rank still waits for this one


def rank_of_script(command: list[str]) -> dict[str, int]:
    """The memory of a script after its steps."""
    steps = 0

    def count(optimizer: Any, args: Any, kwargs: Any) -> None:
        nonlocal steps
        steps += 1
        if steps == STEPS:
            raise KeyboardInterrupt

    sys.argv = command
    optimizers.register_optimizer_step_post_hook(count)
    try:
        runpy.run_path(command[0], run_name="__main__")
    except KeyboardInterrupt:
        return memory()
    raise SystemExit(f"{command[0]} has taken fewer than {STEPS} steps.")


def rank_constants() -> dict[str, int]:
    """The memory beside tensors, after products of matrices and after an all-reduce."""
    torch.zeros(1, device="cuda")
    before = torch.cuda.memory_allocated()
    for dtype in (torch.float32, torch.bfloat16):
        layer = nn.Linear(256, 256, device="cuda", dtype=dtype)
        layer(torch.ones(256, 256, device="cuda", dtype=dtype)).sum().backward()
        layer = None
    numbers = memory() | {"cublas": torch.cuda.memory_allocated() - before}
    return numbers if os.environ["WORLD_SIZE"] == "1" else numbers | {"nccl": nccl_of_all()}


def nccl_of_all() -> int:
    """The bytes that NCCL takes on all ranks; Gloo keeps the ranks in step for both readings."""
    dist.init_process_group("cpu:gloo,cuda:nccl")
    together = torch.zeros(1)
    dist.all_reduce(together)
    before = in_use()
    dist.all_reduce(together)
    dist.all_reduce(torch.ones(1, device="cuda"))
    torch.cuda.synchronize()
    dist.all_reduce(together)
    after = in_use()
    dist.all_reduce(together)
    return after - before


def memory() -> dict[str, int]:
    """The peak of this process's tensors, and what is in use on the GPU."""
    torch.cuda.synchronize()
    allocated, reserved = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
    return {"allocated": allocated, "reserved": reserved, "used": in_use()}


if __name__ == "__main__":
    rank(sys.argv[2:]) if sys.argv[1:2] == ["--rank"] else main()
