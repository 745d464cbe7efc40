"""Start and end Horovod, and number the ranks."""

import atexit
import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from types import ModuleType

import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from course.core import CourseError, words
from course.given.horovod import plain
from course.given.horovod.collectives import backend
from course.given.horovod.engine import Engine
from course.given.horovod.process_sets import ProcessSet, global_process_set
from course.given.horovod.timeline import Timeline

_engine: Engine | None = None
_own_group = False  # whether `init` has made torch's process group
_world: tuple[dist.Store, int, int] | None = None  # where the ranks meet, this rank, how many
_meetings = count(1)


def _join() -> None:
    """Make torch's process group.

    Each time uses a new prefix; otherwise a rank could find the addresses of the last time.
    """
    global _world
    alone = dist.HashStore(), 0, 1
    _world = _world or (next(iter(rendezvous("env://"))) if "RANK" in os.environ else alone)
    store = dist.PrefixStore(f"horovod {next(_meetings)}", _world[0])
    # No device_id: NCCL connects when a tensor on a GPU is first sent, and many scripts send none.
    dist.init_process_group(backend(), store=store, rank=_world[1], world_size=_world[2])


def init(
    process_sets: Sequence[ProcessSet] = (),
    negotiation: type = plain.Negotiation,
    fusion: ModuleType = plain,
) -> None:
    """Join the other ranks and start the engine with these parts. A second call does nothing.

    `negotiation` is a class as in plain.py, `fusion` a module with `fuse`, `pack` and `unpack`.
    Without a launcher, this process is the only rank.
    """
    global _engine, _own_group
    if _engine:
        return
    if not dist.is_initialized():
        _join()
        _own_group = True
    global_process_set.ranks = list(range(dist.get_world_size()))
    for process_set in process_sets:
        if not set(process_set.ranks) <= set(global_process_set.ranks):
            ranks = words.plural(dist.get_world_size(), "rank")
            raise CourseError(
                f"{process_set} cannot be made of {ranks}: start more of them with torchrun."
            )
    sets = [global_process_set, *process_sets]
    for number, process_set in enumerate(sets):
        process_set.process_set_id, process_set.own_rank = number, dist.get_rank()
    _engine = Engine(negotiation, fusion, sets)
    atexit.register(_last_words)
    path = os.environ.get("HOROVOD_TIMELINE", "DYNAMIC")
    if path != "DYNAMIC":  # "DYNAMIC" means: record once `start_timeline` is called
        start_timeline(path)


def shutdown() -> None:
    """End the engine; operations that other ranks still wait for fail. `init` may follow again."""
    global _engine, _own_group
    if not _engine:
        return
    ended, _engine = _engine, None
    atexit.unregister(_last_words)
    ended.leave()
    _write(ended)
    with suppress(RuntimeError):  # a rank may be gone
        dist.barrier(group=ended.control)  # no rank closes a connection that another still uses
    if _own_group:
        dist.destroy_process_group()
    else:
        own = [team.runner.group for team in ended.teams.values() if ended.rank in team.ranks]
        for group in (ended.control, *own):
            dist.destroy_process_group(group)
    _own_group = False


def _last_words() -> None:
    """End the engine if a script forgets `shutdown` or fails, so that the others do not wait."""
    if _engine:
        _engine.leave(patience=5)
        _write(_engine)


def engine() -> Engine:
    """The engine of this rank; raise ValueError if there is none."""
    if not _engine:
        raise ValueError("Horovod has not been initialized: call hvd.init() first.")
    return _engine


def size() -> int:
    """The number of ranks."""
    return engine().size


def rank() -> int:
    """The number of this process among all."""
    return engine().rank


def local_rank() -> int:
    """The number of this process on this machine, which is also the number of its GPU."""
    engine()
    return int(os.environ.get("LOCAL_RANK", "0"))


def local_size() -> int:
    """The number of ranks on this machine."""
    engine()
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def start_timeline(file_path: str) -> None:
    """Record from now on; rank 0 writes the file, because it hears from all the others."""
    if rank() == 0:
        engine().timeline = Timeline(file_path)


def stop_timeline() -> None:
    """Write the recording."""
    _write(engine())


def _write(engine: Engine) -> None:
    recorded, engine.timeline = engine.timeline, None
    if recorded:
        recorded.write()
