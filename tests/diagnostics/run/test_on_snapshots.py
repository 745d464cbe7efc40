"""What `run` finds in made-up snapshots of runs that hang or have failed."""

import pytest
from support.made_snapshots import SCRIPT, backward, computes, forward, rank, waits

from course.diagnostics.run import ending, failures, hangs, progress
from course.diagnostics.run.ending import HUNG, INTERRUPTED, LIMIT
from course.diagnostics.watch.rank_states import RankState
from course.diagnostics.watch.snapshots import ThreadStack


def first(*ranks: RankState) -> object:
    """The first finding."""
    return hangs.findings(ranks)[0]


def test_a_rank_that_did_not_call() -> None:
    finding = first(rank(0, waits("barrier", 30)), rank(1, computes(41)))
    assert (finding.what, finding.rank, finding.where) == ("missing call", 1, "train.py:41")
    assert "Rank 0 waits in barrier at train.py:30." in finding.says
    assert "rank 1 did not call barrier: rank 1 is at train.py:41." in finding.says


def test_several_ranks_that_did_not_call() -> None:
    ranks = [rank(n, waits("barrier", 30), 4) for n in range(2)]
    ranks += [rank(n, computes(41), 4) for n in (2, 3)]
    finding = first(*ranks)
    assert "Ranks 0 and 1 wait in barrier" in finding.says
    assert "ranks 2 and 3 did not call barrier" in finding.says and finding.rank is None


def test_different_calls() -> None:
    finding = first(rank(0, waits("all_reduce", 12)), rank(1, backward(30)))
    assert finding.what == "different calls"
    assert "(all_reduce at train.py:12; backward at train.py:30)" in finding.says


@pytest.mark.parametrize("other", [waits("barrier", 30), computes(41)])
def test_a_forward_of_one_rank(other) -> None:
    finding = first(rank(0, forward(12)), rank(1, other))
    assert "forward at train.py:12" in finding.says and "`ddp.module`" in finding.says
    assert "`ddp.module`" not in first(rank(0, backward(12)), rank(1, other)).says


def test_each_call_is_named_where_a_rank_is_in_neither() -> None:
    ranks = [rank(0, waits("recv", 12), 3), rank(1, waits("all_reduce", 30), 3)]
    finding = first(*ranks, rank(2, computes(41), 3))
    assert finding.says.startswith(
        "Rank 0 waits in recv at train.py:12; rank 1 waits in all_reduce at train.py:30. "
    )
    assert "rank 2 did not call all_reduce: rank 2 is at train.py:41." in finding.says


def test_messages_that_do_not_meet() -> None:
    finding = first(rank(0, waits("send", 9)), rank(1, waits("recv", 12)))
    assert finding.what == "unmatched messages"
    assert finding.says == (
        "Rank 0 waits in send at train.py:9; rank 1 waits in recv at train.py:12, "
        "and no message comes."
    )


def test_a_rank_that_has_ended() -> None:
    finding = first(rank(0, waits("barrier", 30)), rank(1, [], dead=True, ended=True, threads=[]))
    assert (finding.what, finding.rank) == ("ended rank", 1)


def test_a_rank_that_has_raised_is_the_cause_though_the_others_still_wait() -> None:
    error = ThreadStack("", [], "ValueError: a bad sample", "train.py:12")
    finding = first(
        rank(0, waits("barrier", 30)),
        rank(1, [], dead=True, ended=True, threads=[], error=error),
    )
    assert (finding.what, finding.rank, finding.where) == ("error", 1, "train.py:12")
    assert finding.says.startswith("Rank 0 waits in barrier at train.py:30. Rank 1 failed first")


def test_ranks_that_never_came() -> None:
    finding = first(
        rank(0, waits("init_process_group", 7), 3), rank(2, waits("init_process_group", 7), 3)
    )
    assert (finding.what, finding.rank) == ("not joined", 1)
    assert "of 3 ranks, 2 have come" in finding.says


def test_all_in_the_same_call() -> None:
    ranks = [rank(0, waits("broadcast", 9), pending=["broadcast of [[4]]"])]
    ranks += [rank(1, waits("broadcast", 9), pending=["broadcast of [[8]]"])]
    finding = first(*ranks)
    assert finding.what == "same call"
    assert "rank 0 broadcast of [[4]], rank 1 broadcast of [[8]]" in finding.says


def test_all_in_the_same_call_are_asked_for_its_root() -> None:
    finding = first(rank(0, waits("reduce", 9)), rank(1, waits("reduce", 9)))
    assert finding.says.endswith("no message comes. Do all ranks name the same `dst` in reduce?")


def test_no_rank_waits_for_another() -> None:
    assert first(rank(0, computes(3)), rank(1, computes(3))).what == "outside"


def test_a_handled_exception_is_no_cause_where_all_ranks_wait_at_one_line() -> None:
    main = ThreadStack("MainThread", waits("barrier", 30), "ImportError: no apex", "train.py:2")
    ranks = [rank(n, [], threads=[main]) for n in range(2)]
    assert first(*ranks).what == "same call"


def test_a_second_thread_in_a_group_of_its_own_is_no_cause() -> None:
    main, other = (
        ThreadStack("MainThread", backward(30)),
        ThreadStack("saver", waits("barrier", 50)),
    )
    ranks = [rank(n, [], threads=[main, other], calls=[("barrier", 50, 3)]) for n in range(2)]
    for seen in ranks:
        call = seen.record.calls[0]
        object.__setattr__(call, "thread", "saver")
        object.__setattr__(call, "group", "7")
    assert first(*ranks).what == "same call"


def test_which_rank_called_less_and_since_when() -> None:
    common = [("all_reduce", 18, 1), ("all_reduce", 18, 1), ("all_reduce", 18, 2)]
    more = rank(0, waits("all_reduce", 18), calls=[*common, ("all_reduce", 18, 2)], passes=2)
    finding = first(more, rank(1, backward(30), calls=common, passes=3))
    assert finding.step == 1
    assert "After backward pass 2 (step 1 from 0) the ranks' calls differ: " in finding.says
    assert "rank 0 called all_reduce at train.py:18 twice, rank 1 called it once." in finding.says


def test_ranks_whose_calls_never_agree_are_not_compared() -> None:
    one = rank(0, waits("barrier", 5), calls=[("broadcast", n, 1) for n in range(1, 9)])
    two = rank(1, computes(7), calls=[("all_reduce", n, 1) for n in range(1, 9)])
    for seen in (one, two):
        for call in seen.record.calls:
            object.__setattr__(call, "order", call.order + 4)  # the first are forgotten
    assert "part" not in first(one, two).says


def test_on_gpus_the_last_call_counts_and_is_said() -> None:
    ranks = [rank(0, computes(20), cuda=True, calls=[("all_reduce", 12, 4)], passes=4)]
    ranks += [rank(1, computes(31), cuda=True, calls=[("barrier", 15, 4)], passes=4)]
    findings = hangs.findings(ranks)
    assert findings[0].what == "different calls" and "barrier at train.py:15" in findings[0].says
    assert findings[1].note and findings[1].what == "later line"
    assert "Python stands at train.py:20" in findings[1].says


def test_the_calls_in_which_living_ranks_wait_are_known() -> None:
    ranks = [rank(0, backward(30)), rank(1, computes(41)), rank(2, waits("barrier", 9), dead=True)]
    assert ending.ending_of(ranks, LIMIT, None, 8.0, 3.0).waits_in == {0: "backward"}


@pytest.mark.parametrize("ended", [LIMIT, INTERRUPTED])
def test_ranks_that_have_just_moved_are_not_accused(ended: str) -> None:
    ranks = [rank(0, waits("backward", 30), unmoved=0.3), rank(1, computes(41), unmoved=0.2)]
    outcome = ending.ending_of(ranks, ended, None, 8.0, 3.0)
    assert "still working" in outcome.lead and outcome.findings == [] and outcome.waits_in == {}


def test_a_rank_that_computes_at_one_line_works() -> None:
    ranks = [rank(0, waits("barrier", 30)), rank(1, computes(41), idle=0.5)]
    assert progress.stalled_s(ranks) == 0.5
    ranks[1].snapshot.idle = 50.0
    assert progress.stalled_s(ranks) == 50.0


def test_a_rank_that_computes_backward_on_cpus_works() -> None:
    ranks = [rank(0, backward(30), idle=0.5), rank(1, backward(30), idle=70.0)]
    assert progress.stalled_s(ranks) == 0.5


def test_a_hang_is_only_clear_after_longer_than_the_pauses_before() -> None:
    ranks = [rank(0, waits("barrier", 30), unmoved=4.0), rank(1, computes(41), unmoved=4.0)]
    assert ending.ending_of(ranks, LIMIT, None, 8.0, 9.0).findings == []
    assert ending.ending_of(ranks, LIMIT, None, 8.0, 3.0).findings != []


def test_ranks_of_another_machine_are_said_to_be_unseen() -> None:
    ranks = [rank(n, waits("barrier", 30), 4) for n in range(2)]
    findings = ending.ending_of(ranks, HUNG, None, 400.0, 3.0).findings
    assert findings[-1].note and findings[-1].what == "unseen ranks"
    assert "Only 2 of 4 ranks are seen" in findings[-1].says


def test_lines_name_the_file_that_was_run() -> None:
    seen = rank(0, waits("barrier", 30))
    assert progress.lines([seen]) == ["  rank 0 waits in barrier at train.py:30"]
    assert SCRIPT.endswith("train.py")


def test_a_rank_that_was_interrupted_has_not_failed() -> None:
    error = ThreadStack("", [], "KeyboardInterrupt", "train.py:12")
    seen = rank(0, [], dead=True, ended=True, threads=[], error=error)
    assert progress.lines([seen]) == ["  rank 0 was interrupted at train.py:12"]


def test_a_rank_that_exits_after_another_was_killed_is_not_the_first() -> None:
    sys_exit = ThreadStack("", computes(20), "sys.exit(1)", "train.py:20")
    exits = rank(1, [], dead=True, ended=True, error=sys_exit)
    assert failures.findings([rank(0, [], dead=True), exits])[0].rank == 0
    assert failures.findings([rank(0, [], dead=True, ended=True), exits])[0].rank == 1
