"""Print what torch reports about itself and each GPU; runs as a separate process, which may hang.

It prints a line of JSON whenever it knows more, so that the last line is true even after a crash.
"""

import json
from typing import Any

import torch
import torch.distributed as dist
from torch.cuda import nccl

SIDE = 64  # of the square matrices that each GPU multiplies


def main() -> None:
    """Initialize CUDA, then count the GPUs and compute on each."""
    # Until CUDA is initialized, torch counts what the driver shows; afterwards, what CUDA shows.
    gpus = torch.cuda.device_count()
    faults = dict.fromkeys(range(gpus), "CUDA does not start")
    says = backends() | {"gpus": gpus, "faults": faults}
    tell(says)
    if not gpus:
        return
    try:
        torch.cuda.init()
    except Exception as error:
        faults.update(dict.fromkeys(range(gpus), reason(error)))
        tell(says)
        return
    faults.clear()
    says["gpus"] = torch.cuda.device_count()
    for gpu in range(says["gpus"]):
        faults[gpu] = "it does not answer"
        tell(says)
        del faults[gpu]
        if problem := fault(gpu):
            faults[gpu] = problem
    tell(says)


def backends() -> dict[str, Any]:
    """The backends for messages between ranks: whether there is Gloo, and the version of NCCL."""
    if not dist.is_available():
        return {}
    version = nccl.version() if dist.is_nccl_available() else ()
    return {"gloo": dist.is_gloo_available(), "nccl": ".".join(map(str, version)) or None}


def fault(gpu: int) -> str | None:
    """The reason why torch cannot compute on this GPU; None if the result is right."""
    try:
        ones = torch.ones(SIDE, SIDE, device=torch.device("cuda", gpu))
        total = (ones @ ones).sum().item()
    except Exception as error:
        return reason(error)
    return None if total == SIDE**3 else f"its sum is {total:g} and should be {SIDE**3}"


def reason(error: Exception) -> str:
    """The first line of an error's message."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def tell(says: dict[str, Any]) -> None:
    """Print what is known so far."""
    print(json.dumps(says), flush=True)


if __name__ == "__main__":
    main()
