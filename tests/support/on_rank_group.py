"""What two ranks do with lab 12b's `group_of`."""

import importlib
import os
from datetime import timedelta

import torch

from course.checks.lab_12b.on_rank_store import connect, held


def hears_of_a_failure(limit: float) -> str:
    """Why the round fails on rank 1, after it has failed on rank 0.

    Each call to the group may take `limit` seconds. Rank 0 keeps the group of `group_of`.
    """
    with held():
        script = importlib.import_module("common_weights")
        script.LIMIT_S = limit
        rank, store = int(os.environ["RANK"]), connect()
        store.set_timeout(timedelta(seconds=2 * limit))
        try:
            with script.group_of(store, 1, str(rank), ["0", "1"]) as present:
                if rank == 0:
                    store.wait(["there"])  # or the round fails while rank 1 connects
                    raise RuntimeError("lost")
                store.set("there", "")
                present.allreduce(torch.ones(1)).wait()
        except script.RoundFailed as error:
            failure = str(error)
        if rank == 0:
            store.wait(["heard"])
        else:
            store.set("heard", "")
        return failure
