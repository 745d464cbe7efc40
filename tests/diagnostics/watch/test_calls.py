"""The names of the recorded calls, a list that does without torch, are those that torch has."""

import torch.distributed as dist

from course.core import dist_names
from course.diagnostics.watch import calls

WITHIN = {"batch_isend_irecv"}  # the calls that it makes are recorded instead
IN_CPP = {"_broadcast_coalesced"}  # DDP calls it in C++, without the helper that records
OF_OBJECTS = {"send_object_list", "recv_object_list"}  # recorded as one call, sent as two messages


def test_every_function_that_exchanges_data_is_recorded() -> None:
    exchanging = set(dist_names.MOVES_DATA + dist_names.BARRIERS) - WITHIN - IN_CPP
    assert exchanging - calls.NAMES == set()


def test_nothing_else_is_recorded() -> None:
    known = {name for name in calls.NAMES if hasattr(dist, name)}
    assert known - set(dist_names.MOVES_DATA + dist_names.BARRIERS) == OF_OBJECTS
