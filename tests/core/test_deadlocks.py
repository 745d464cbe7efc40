"""What is said of ranks by the calls in which they wait."""

import pytest

from course.core import deadlocks
from course.core.call_site import CallSite


def at(call: str, line: int) -> CallSite:
    return CallSite(call, "/labs/src/ddp.py", line)


def sites(*of_ranks: CallSite | None) -> deadlocks.Sites:
    return dict(enumerate(of_ranks))


@pytest.mark.parametrize("sends", ["send", "isend", "batch_isend_irecv", "send_object_list"])
def test_a_message_meets_another_call(sends: str) -> None:
    assert deadlocks.different_calls(sites(at(sends, 3), at("recv", 5))) == ""


def test_collectives_meet_only_in_the_same_call() -> None:
    assert deadlocks.different_calls(sites(at("all_reduce", 3), at("broadcast", 5))) == (
        "The ranks wait in different calls (all_reduce at ddp.py:3; broadcast at ddp.py:5): "
        "each waits for the others forever."
    )
    assert deadlocks.different_calls(sites(at("all_reduce", 3), at("recv", 5)))
    assert not deadlocks.different_calls(sites(at("all_reduce", 3), at("all_reduce", 3)))


def test_the_same_call_at_another_line_is_another_one() -> None:
    assert "at ddp.py:3; all_reduce at ddp.py:5" in deadlocks.different_calls(
        sites(at("all_reduce", 3), at("all_reduce", 5))
    )


@pytest.mark.parametrize("other", [None, at("", 9)])
def test_a_rank_that_does_not_wait_may_still_make_the_call(other: CallSite | None) -> None:
    waits = sites(at("all_reduce", 3), at("barrier", 5), other)
    assert deadlocks.different_calls(waits) == ""
    assert "rank 2 did not call all_reduce or barrier: rank 2 is " in deadlocks.missing_call(waits)


def test_a_collective_waits_for_every_rank_and_a_message_for_one() -> None:
    assert deadlocks.missing_call(sites(at("barrier", 3), at("", 9), at("barrier", 3))) == (
        "Ranks 0 and 2 wait in barrier at ddp.py:3. A collective ends when every rank has called "
        "it, and rank 1 did not call barrier: rank 1 is at ddp.py:9."
    )
    assert deadlocks.missing_call(sites(at("recv", 3), None)) == (
        "Rank 0 waits in recv at ddp.py:3 for a partner: rank 1 is outside the script."
    )
    assert deadlocks.missing_call(sites(at("", 9), None)) == ""


def test_a_rank_that_has_ended_is_not_said_to_have_missed_the_call() -> None:
    assert deadlocks.ended_rank(sites(at("barrier", 3)), [1]) == (
        "Rank 1 has ended. Rank 0 waits in barrier at ddp.py:3, and a collective ends when every "
        "rank has called it."
    )
    assert deadlocks.ended_rank(sites(at("recv", 3)), [1, 2]) == (
        "Ranks 1 and 2 have ended. Rank 0 waits in recv at ddp.py:3."
    )
    assert deadlocks.ended_rank(sites(at("", 3)), [1]) == ""


def test_all_in_a_call_with_a_root_are_asked_for_it() -> None:
    """Each may have named itself; a single process has nobody to agree with."""
    question = deadlocks.root_question(sites(at("broadcast", 3), at("broadcast", 5)))
    assert question == "Do all ranks name the same `src` in broadcast?"
    assert deadlocks.root_question(sites(at("broadcast", 3))) == ""
    assert deadlocks.root_question(sites(at("broadcast", 3), None)) == ""
    assert deadlocks.root_question(sites(at("barrier", 3), at("barrier", 3))) == ""
