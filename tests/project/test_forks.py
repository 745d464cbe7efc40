"""A test may fork after another one has used a process group."""

import gc
import multiprocessing

import torch.distributed as dist
from support.patience import PATIENCE_S


def test_a_child_does_not_meet_a_group_that_is_garbage() -> None:
    gc.disable()
    try:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        cycle: list[object] = [dist.group.WORLD]
        cycle.append(cycle)
        del cycle
        dist.destroy_process_group()
        child = multiprocessing.get_context("fork").Process(target=gc.collect)
        child.start()
    finally:
        gc.enable()
    child.join(PATIENCE_S)
    code = child.exitcode
    child.kill()
    assert code == 0
