"""The calls to torch.distributed that checks can record or forbid."""

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from course.checks.runner.on_ranks import CheckRanks, Rejected
from course.checks.tools import recorder
from course.core import dist_names

pytestmark = pytest.mark.usefixtures("warm_ranks")


def use_collectives() -> list[recorder.Call]:
    """Call one collective of each kind: in a group, asynchronous, and of objects."""
    group = dist.new_group([dist.get_rank()], use_local_synchronization=True)
    with recorder.recorded() as calls:
        dist.all_reduce(torch.ones(3), async_op=True).wait()
        dist.broadcast(torch.ones(2), dist.get_rank(), group)
        dist.all_gather_object([None, None], "anything")
    dist.barrier()
    return calls


def send_one_number(way: str) -> list[recorder.Call]:
    """Send a number from rank 0 to rank 1, by `send` or in a batch of messages."""
    rank, number = dist.get_rank(), torch.ones(1)
    with recorder.recorded() as calls:
        if way == "send":
            dist.send(number, 1) if rank == 0 else dist.recv(number, 0)
        else:
            begin = dist.isend if rank == 0 else dist.irecv
            (work,) = dist.batch_isend_irecv([dist.P2POp(begin, number, 1 - rank)])
            work.wait()
    return calls


def call_forbidden(name: str) -> None:
    """Make one call of this name while all functions that move data are forbidden."""
    with recorder.forbidden(dist_names.MOVES_DATA, "{name} is forbidden"):
        getattr(dist, name)(torch.ones(1))


def wrap_in_ddp() -> None:
    """Wrap a model in torch's DDP while that is forbidden."""
    with recorder.ddp_forbidden():
        DistributedDataParallel(torch.nn.Linear(1, 1))


def test_collectives_are_recorded_with_size_group_and_waiting(tmp_path: Path):
    for rank, calls in enumerate(CheckRanks(tmp_path).call(2, use_collectives)):
        assert calls == [
            recorder.Call("all_reduce", 3, True, None, (0, 1), 12),
            recorder.Call("broadcast", 2, False, None, (rank,), 8),
            recorder.Call("all_gather_object", 0, False, None, (0, 1), 0),
        ]


@pytest.mark.parametrize(
    ("way", "sends", "receives"), [("send", "send", "recv"), ("batch", "isend", "irecv")]
)
def test_a_message_is_recorded_once_with_its_destination(way, sends, receives, tmp_path: Path):
    (sent,), (received,) = CheckRanks(tmp_path).call(2, send_one_number, way)
    assert (sent.name, sent.elements, sent.to) == (sends, 1, 1)
    assert (received.name, received.to) == (receives, None)


def test_what_is_forbidden_says_so(tmp_path: Path):
    with pytest.raises(Rejected, match="all_reduce is forbidden"):
        CheckRanks(tmp_path).call(1, call_forbidden, "all_reduce")
    with pytest.raises(Rejected, match="hands the work to torch's DistributedDataParallel"):
        CheckRanks(tmp_path).call(1, wrap_in_ddp)
