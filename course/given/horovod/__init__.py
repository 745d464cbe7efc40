"""Horovod's operations over torch.distributed, with an engine whose two parts can be replaced."""

from course.given.horovod.basics import (
    engine,
    init,
    local_rank,
    local_size,
    rank,
    shutdown,
    size,
    start_timeline,
    stop_timeline,
)
from course.given.horovod.collectives import DTYPES
from course.given.horovod.compression import Compression
from course.given.horovod.engine import HorovodInternalError
from course.given.horovod.objects import pickled, unpickled
from course.given.horovod.ops import (
    Average,
    Max,
    Sum,
    allgather,
    allgather_async,
    allreduce,
    allreduce_,
    allreduce_async,
    allreduce_async_,
    barrier,
    broadcast,
    broadcast_,
    broadcast_async,
    broadcast_async_,
    grouped_allreduce_async,
    grouped_allreduce_async_,
    join,
    poll,
    synchronize,
)
from course.given.horovod.optimizer import DistributedBase, optimizer_of
from course.given.horovod.process_sets import ProcessSet, global_process_set
from course.given.horovod.requests import Answer, Request

__all__ = [
    "DTYPES",
    "Answer",
    "Average",
    "Compression",
    "DistributedBase",
    "HorovodInternalError",
    "Max",
    "ProcessSet",
    "Request",
    "Sum",
    "allgather",
    "allgather_async",
    "allreduce",
    "allreduce_",
    "allreduce_async",
    "allreduce_async_",
    "barrier",
    "broadcast",
    "broadcast_",
    "broadcast_async",
    "broadcast_async_",
    "engine",
    "global_process_set",
    "grouped_allreduce_async",
    "grouped_allreduce_async_",
    "init",
    "join",
    "local_rank",
    "local_size",
    "optimizer_of",
    "pickled",
    "poll",
    "rank",
    "shutdown",
    "size",
    "start_timeline",
    "stop_timeline",
    "synchronize",
    "unpickled",
]
