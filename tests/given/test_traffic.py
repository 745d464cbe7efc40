"""What `sent.Traffic` records of each kind of call, as course/checks/README.md lists it."""

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course.checks.runner.on_ranks import CheckRanks
from course.given import sent

pytestmark = pytest.mark.usefixtures("warm_ranks")

OWN = 4  # numbers in float32, on each of two ranks


def traffic_of(way: str) -> tuple[list[tuple], int]:
    """The messages of one call, and their units."""
    own, both, other = torch.zeros(OWN), torch.zeros(2 * OWN), 1 - dist.get_rank()
    model = DistributedDataParallel(nn.Linear(OWN, 1, bias=False)) if way == "DDP" else None
    with sent.Traffic() as traffic:
        match way:
            case "all_reduce":
                dist.all_reduce(own)
            case "all_gather":
                dist.all_gather(list(both.chunk(2)), own)
            case "all_gather_into_tensor":
                dist.all_gather_into_tensor(both, own)
            case "messages":
                ops = [
                    dist.P2POp(dist.isend, own, other),
                    dist.P2POp(dist.irecv, own.clone(), other),
                ]
                for work in dist.batch_isend_irecv(ops):
                    work.wait()
            case "object":
                dist.all_gather_object([None, None], "anything")
            case "barrier":
                dist.barrier()
            case "DDP":
                model(own).sum().backward()
    messages = [(one.name, one.elements, one.nbytes, one.ranks) for one in traffic.messages]
    return messages, traffic.units


@pytest.mark.parametrize(
    ("way", "messages", "units"),
    [
        ("all_reduce", [("allreduce", 4, 16, (0, 1))], 32),
        ("all_gather", [("allgather", 4, 32, (0, 1))], 32),
        ("all_gather_into_tensor", [("allgatherbase", 8, 32, (0, 1))], 32),
        ("messages", [("send", 4, 16, (0, 1)), ("recv", 4, 16, (0, 1))], 32),
        ("barrier", [], 0),
        ("DDP", [("allreduce", 4, 16, (0, 1))], 32),
    ],
)
def test_a_call_is_listed_with_its_numbers_bytes_and_ranks(way, messages, units, tmp_path: Path):
    for rank_sees in CheckRanks(tmp_path).call(2, traffic_of, way):
        assert rank_sees == (messages, units)


def test_an_object_is_two_all_gathers(tmp_path: Path):
    for messages, _ in CheckRanks(tmp_path).call(2, traffic_of, "object"):
        assert [name for name, *_ in messages] == ["allgather", "allgather"]
