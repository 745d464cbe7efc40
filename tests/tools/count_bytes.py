"""Count the bytes of scripts on real ranks of the CPU, next to those of a rehearsal.

    PYTHONPATH=tests:. python tests/tools/count_bytes.py 1,2 tests/diagnostics/zoo/plain_ddp.py ...

It prints a line of JSON for each script and number of ranks; quote a script that has arguments.
All processes are forked from this one, which has imported torch, so a script takes seconds. Both
use the same ledger; only the tensors differ.
"""

import json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from support.patience import until
from support.ports import free_port

from course.diagnostics.fit import ledger, rehearsal

COLLECTIVES = (
    "all_reduce", "broadcast", "all_gather", "all_gather_into_tensor", "all_gather_single",
    "reduce_scatter", "reduce_scatter_tensor", "reduce_scatter_single",
)  # fmt: skip


def until_released(collective: Callable) -> Callable:
    """Make a collective return only after Gloo's thread has released its tensors.

    Gloo's own may return some milliseconds earlier. Tensors that the script frees in between would
    stay in memory, and the count would depend on timing. Gloo holds parts of a gathered tensor, not
    the tensor itself, so this waits for the references to its memory.
    """

    @wraps(collective)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = map(ledger.local, ledger.tensors((*args, *kwargs.values())))
        held = [(tensor, _references(tensor)) for tensor in given]
        work = collective(*args, **kwargs)
        if work is None:
            until(lambda: all(_references(t) <= before for t, before in held), every=0.001)
        return work

    return call


def _references(tensor: torch.Tensor) -> int:
    """How many references to the memory of this tensor there are."""
    return torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)


def on_real_ranks(request: dict) -> dict:
    """The answer of rank 0, if each rank is a process and Gloo connects them."""
    count, port = request["ranks"], free_port()
    children = []
    with tempfile.TemporaryFile("w+") as answer:
        for rank in range(count):
            child = os.fork()
            if not child:
                os.environ.update(
                    RANK=str(rank),
                    LOCAL_RANK=str(rank),
                    WORLD_SIZE=str(count),
                    LOCAL_WORLD_SIZE=str(count),
                    MASTER_ADDR="127.0.0.1",
                    MASTER_PORT=str(port),
                )
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, 1)
                os.dup2(nowhere, 2)
                for name in COLLECTIVES:
                    if hasattr(dist, name):
                        setattr(dist, name, until_released(getattr(dist, name)))
                outcome = rehearsal.rehearse(request, ranks_are_real=True)
                if not rank:
                    json.dump(outcome, answer)
                    answer.flush()
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
        answer.seek(0)
        return json.loads(answer.read() or '{"failed": "rank 0 wrote nothing"}')


def main(counts: str, *commands: str) -> None:
    """Print a line for each command and number of ranks."""
    torch.set_num_threads(1)
    scripts = [shlex.split(command) for command in commands]
    if any("ransformers" in Path(script).read_text() for script, *_ in scripts):
        import transformers  # noqa: F401  # once, before the forks
    for script, *words in scripts:
        for ranks in map(int, counts.split(",")):
            request = {"script": script, "words": words, "ranks": ranks}
            (rehearsed,) = rehearsal.Rehearsals().answers([request])
            both = {"rehearsed": rehearsed, "real": on_real_ranks(request)}
            print(json.dumps({"script": script, "ranks": ranks, **both}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
