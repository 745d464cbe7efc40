"""Which calls can meet: that of one rank, and that of another."""

import pytest
import torch.distributed as dist

from course.core.call_site import POINT_TO_POINT, CallSite, different_calls


def at(call: str, line: int) -> CallSite:
    return CallSite(call, "/labs/src/ddp.py", line)


@pytest.mark.parametrize("sends", ["send", "isend", "batch_isend_irecv", "send_object_list"])
def test_a_message_meets_another_call(sends: str) -> None:
    assert different_calls([at(sends, 3), at("recv", 5)]) == ""


def test_collectives_meet_only_in_the_same_call() -> None:
    assert different_calls([at("all_reduce", 3), at("broadcast", 5)]) == (
        "The ranks wait in different calls (all_reduce at ddp.py:3; broadcast at ddp.py:5): "
        "each waits for the others forever."
    )
    assert different_calls([at("all_reduce", 3), at("recv", 5)])
    assert not different_calls([at("all_reduce", 3), at("all_reduce", 3)])


def test_the_same_call_at_another_line_is_another_one() -> None:
    assert "at ddp.py:3; all_reduce at ddp.py:5" in different_calls(
        [at("all_reduce", 3), at("all_reduce", 5)]
    )


@pytest.mark.parametrize("other", [None, at("", 9)])
def test_a_rank_that_does_not_wait_may_still_make_the_call(other: CallSite | None) -> None:
    assert different_calls([at("all_reduce", 3), at("barrier", 5), other]) == ""


def test_messages_are_those_of_torch() -> None:
    messages = {name for name in vars(dist) if "send" in name or "recv" in name}
    assert messages | {"wait"} == POINT_TO_POINT
