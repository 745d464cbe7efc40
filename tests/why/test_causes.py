"""Each cause is found in steps that are made up, in which nothing but the cause is wrong."""

from dataclasses import replace

import pytest
from support.made_steps import computed, did, message, ranks

from course.core import CourseError
from course.why import Answer, Cause
from course.why.timeline import ASYNC, Rank

MIB = 1 << 20
STEP = did("optimizer", 2, "train.py:9")
# A barrier in which the first rank waits so long for the second.
ONE_TO_ONE = message("recv", 50, 4 * MIB, "train.py:5")


def first(told: list[Rank]) -> Cause:
    """The cause to cure first."""
    return Answer(told).causes[0]


def same(*slices: object, count: int = 2, **more: object) -> list[Rank]:
    """Ranks that all do the same."""
    return ranks(*[list(slices)] * count, **more)


@pytest.mark.parametrize("count", [2, 4])
def test_nothing_is_wrong(count: int) -> None:
    cause = first(same(*computed(), STEP, count=count, tail=2.0, overlap=8.0))
    assert (cause.cause, cause.rank) == ("computing", None)
    assert cause.share == pytest.approx(62 / 64)


@pytest.mark.parametrize(
    ("kind", "name"), [("input", "input"), ("python", "python"), ("optimizer", "optimizer")]
)
@pytest.mark.parametrize("count", [2, 4])
def test_all_ranks_spend_their_time_elsewhere(kind: str, name: str, count: int) -> None:
    told = same(did(kind, 58, "train.py:3"), *computed(), tail=2.0, overlap=8.0, count=count)
    cause = first(told)
    assert (cause.cause, cause.rank, cause.where) == (name, None, "train.py:3")
    assert cause.share == pytest.approx(58 / 120)


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("input", "input"),
        ("forward", "forward"),
        ("backward", "backward"),
        ("python", "outside the step"),
    ],
)
@pytest.mark.parametrize("count", [2, 4])
def test_one_rank_is_late(kind: str, where: str, count: int) -> None:
    late = count - 1
    work = [did(name, 10, f"train.py:{n}") for n, name in enumerate(("python", "input"), 1)]
    work += [*computed(), STEP]
    longer = [replace(each, end=each.end + 0.05) if each.kind == kind else each for each in work]
    told = ranks(*[work] * late, longer, tail=[52.0] * late + [2.0], overlap=[8.0] * count)
    cause = first(told)
    assert (cause.cause, cause.rank, cause.where) == ("straggler", late, where)
    assert cause.share == pytest.approx(50 / 134)
    assert cause.line == next(each.where for each in work if each.kind == kind)


def test_more_in_forward_and_in_backward_is_one_straggler() -> None:
    even, late = computed(), [did("forward", 50, "train.py:7"), did("backward", 100, "train.py:8")]
    told = ranks([*even, STEP], [*late, STEP], tail=[92.0, 2.0])
    causes = Answer(told).causes
    assert [(each.cause, each.rank, each.where) for each in causes] == [
        ("straggler", 1, "backward")
    ]
    assert causes[0].share == pytest.approx(90 / 154)


def test_ranks_are_late_in_turns() -> None:
    one, other = ([*computed(), did("forward", ms), STEP] for ms in (0.0, 120.0))
    told = ranks(one, other, tail=[122.0, 2.0])
    for step, its in zip(told[0].steps[::2], told[1].steps[::2], strict=True):
        step.slices, its.slices = its.slices, step.slices
        step.passes, its.passes = its.passes, step.passes
        step.end, its.end = its.end, step.end
    cause = first(told)
    assert (cause.cause, cause.rank) == ("straggler", None)


def test_one_saves_and_the_others_wait() -> None:
    saves = [*computed(), STEP, did("saving", 60, "train.py:12")]
    barrier = [message("barrier", ms, 0, "train.py:13") for ms in (1, 61)]
    cause = first(ranks([*saves, barrier[0]], [*computed(), STEP, barrier[1]], tail=2.0))
    assert (cause.cause, cause.rank, cause.where) == ("saving", 0, "train.py:12")
    assert cause.share == pytest.approx(60 / 125)


def test_saving_in_some_steps_counts_with_what_it_takes_on_average() -> None:
    told = same(*computed(), STEP, tail=2.0)
    for rank in told:
        last = rank.steps[-1]
        last.slices.append(did("saving", 640, "train.py:12"))
    cause = first(told)
    assert (cause.cause, cause.rank) == ("saving", None)
    assert cause.share == pytest.approx(0.5)


def test_messages_begin_when_backward_is_over() -> None:
    averaging = message("all_reduce", 30, 10 * MIB, "train.py:10")
    cause = first(same(*computed(), averaging, STEP))
    assert (cause.cause, cause.where) == ("no overlap", "train.py:10")
    assert cause.share == pytest.approx(30 / 92)
    cause = first(same(*computed(), STEP, tail=30.0, buckets=(10 * MIB,)))
    assert cause.cause == "no overlap"


def test_messages_are_too_large_to_hide() -> None:
    cause = first(same(*computed(), STEP, tail=60.0, overlap=30.0, buckets=(25 * MIB,) * 4))
    assert cause.cause == "bandwidth"
    assert cause.share == pytest.approx(60 / 122)
    begun = message(f"all_reduce, {ASYNC}", 60, 10 * MIB, "train.py:10", within="backward")
    assert first(same(*computed(), begun, STEP)).cause == "bandwidth"


def test_what_backward_could_not_hide_anyway_is_size() -> None:
    averaging = message("all_reduce", 200, 10 * MIB, "train.py:10")
    causes = Answer(same(*computed(), averaging, STEP)).causes
    assert [cause.cause for cause in causes[:2]] == ["bandwidth", "no overlap"]
    assert causes[0].share == pytest.approx(160 / 262)


def test_many_small_messages() -> None:
    small = [message("all_reduce", 1, 60_000, "train.py:10") for _ in range(60)]
    assert first(same(*computed(), *small, STEP)).cause == "latency"
    assert first(same(*computed(), STEP, tail=60.0, buckets=(4096,) * 60)).cause == "latency"


def test_one_small_message_is_not_too_large() -> None:
    assert first(same(*computed(), STEP, tail=30.0, buckets=(4096,))).cause == "latency"
    mixed = Answer(same(*computed(), STEP, tail=60.0, overlap=30.0, buckets=(4096, 25 * MIB)))
    assert mixed.causes[0].cause == "bandwidth"


def test_what_the_passes_themselves_wait_for_is_not_late() -> None:
    """As FSDP gathers parameters and scatters gradients."""
    gathered = message("all_gather_into_tensor", 15, 4 * MIB, "train.py:7", within="forward")
    scattered = message("reduce_scatter_tensor", 15, 4 * MIB, "train.py:8", within="backward")
    causes = Answer(same(gathered, *computed(), scattered, STEP)).causes
    assert causes[0].cause == "bandwidth"
    assert "no overlap" not in {cause.cause for cause in causes}


def test_a_single_large_gradient_may_be_the_last() -> None:
    averaging = message("all_reduce", 30, 10 * MIB, "train.py:10")
    told = same(*computed(), averaging, STEP, settings={"largest": 9_800_000})
    assert first(told).cause == "bandwidth"


def test_passes_that_take_no_step_average_gradients() -> None:
    told = same(*computed() * 4, STEP, tail=40.0, overlap=20.0)
    cause = first(told)
    assert cause.cause == "accumulation"
    assert cause.share == pytest.approx(120 / (240 + 160 + 2))
    averaging = message("all_reduce", 40, 10 * MIB, "train.py:10")
    assert first(same(*[*computed(), averaging] * 4, STEP)).cause == "accumulation"


def test_parameters_gathered_for_forward_are_no_accumulation() -> None:
    gathered = message("all_gather_into_tensor", 40, 10 * MIB, "train.py:7", within="forward")
    told = same(*[gathered, *computed()] * 2, STEP)
    assert "accumulation" not in {cause.cause for cause in Answer(told).causes}


def test_several_optimizers_in_a_step_are_no_accumulation() -> None:
    told = same(*computed(), STEP, *computed(), STEP, tail=40.0, overlap=20.0)
    assert {cause.cause for cause in Answer(told).causes} == {"bandwidth"}


@pytest.mark.parametrize("name", ["barrier", "all_gather_object", "monitored_barrier"])
def test_the_script_makes_ranks_meet(name: str) -> None:
    meets = message(name, 40, 0, "train.py:11")
    cause = first(same(*computed(), STEP, meets, tail=2.0))
    assert (cause.cause, cause.where) == ("synchronization", "train.py:11")
    assert cause.share == pytest.approx(40 / 104)


def test_a_reduced_loss_is_synchronization_wherever_it_is_reduced() -> None:
    loss = message("all_reduce", 40, 4, "train.py:11")
    assert first(same(*computed(), loss, STEP, tail=2.0)).cause == "synchronization"
    early = replace(loss, within="forward")
    assert first(same(early, *computed(), STEP, tail=2.0)).cause == "synchronization"


def test_buffers_are_broadcast() -> None:
    table = did("buffers", 40, "train.py:7", name="broadcast", nbytes=50 * MIB)
    cause = first(same(table, *computed(), STEP, tail=2.0))
    assert (cause.cause, cause.where) == ("buffers", "train.py:7")


def test_who_waits_in_a_broadcast_of_buffers_does_not_accuse_it() -> None:
    early, late = (did("buffers", ms, name="broadcast", nbytes=MIB) for ms in (51, 1))
    slow = did("python", 50, "train.py:3")
    told = ranks([early, *computed(), STEP], [slow, late, *computed(), STEP], tail=2.0)
    cause = first(told)
    assert (cause.cause, cause.rank, cause.where) == ("straggler", 1, "outside the step")


def test_unused_parameters_are_searched_for() -> None:
    ddp = {"finds_unused": True, "buffers": 0, "ranks": 2}
    work = [did("forward", 20), did("search", 1), did("backward", 40), STEP]
    told = same(*work, tail=2.0, settings={"ddp": [ddp]})
    answer = Answer(told)
    assert answer.causes[0].cause == "unused parameters"
    assert "compare" in str(answer)
    assert "all were used" in " ".join(str(answer).split())
    for rank in told:
        for pass_ in (each for step in rank.steps for each in step.passes):
            pass_.unused = 400  # so the search is needed
    assert first(told).cause == "computing"
    told = same(*work, tail=2.0, settings={"ddp": [ddp | {"finds_unused": False}]})
    assert first(told).cause == "computing"


def test_more_threads_than_cores() -> None:
    work = [*computed(), STEP]
    crowded = {"threads": 8, "cores": 2, "queued_s": 4.0}
    assert first(same(*work, tail=2.0, settings=crowded)).cause == "threads"
    for fine in ({"threads": 1}, {"cores": 16}, {"queued_s": 0.1}):
        told = same(*work, tail=2.0, settings=crowded | fine)
        assert first(told).cause == "computing"


def test_all_draw_the_same_samples() -> None:
    work = [did("input", 1, "train.py:6"), *computed(), STEP]
    mine, theirs = list(range(8)), list(range(8, 16))
    cause = first(same(*work, tail=2.0, rows=[mine, mine]))
    assert (cause.cause, cause.share, cause.where) == ("not sharded", 0.5, "train.py:6")
    assert first(same(*work, tail=2.0, rows=[mine, theirs])).cause == "computing"
    alike = [7] * 8  # samples that nobody can tell apart
    assert first(same(*work, tail=2.0, rows=[alike, alike])).cause == "computing"
    assert first(same(*work, rows=[mine, mine])).cause == "computing"  # nothing is averaged


def test_all_draw_from_all_samples_each_in_its_own_order() -> None:
    told = same(*computed(), STEP, tail=2.0, settings={"loaded": 160})
    for rank, stride in zip(told, (3, 7), strict=True):
        for number, step in enumerate(rank.steps):
            step.rows = [(8 * number + n) * stride % 160 for n in range(8)]
    assert first(told).cause == "not sharded"
    for step in told[1].steps:
        step.rows = [row + 160 for row in step.rows]
    assert first(told).cause == "computing"


def test_samples_that_a_data_set_holds_twice_are_not_drawn_twice() -> None:
    told = same(*computed(), STEP, tail=2.0, rows=[list(range(8))] * 2)
    for rank in told:
        for number, step in enumerate(rank.steps):
            step.indices = [100 * rank.rank + 8 * number + n for n in range(8)]
    assert first(told).cause == "computing"
    for step in told[1].steps:
        step.indices = [index - 100 for index in step.indices]
    assert first(told).cause == "not sharded"


def test_batches_of_an_iterator_are_input() -> None:
    work = [did("python", 60), *computed(), STEP]
    settings = {"iterating": 0.9, "lines": {"input": "train.py:3", "python": "train.py:3"}}
    cause = first(same(*work, tail=2.0, settings=settings))
    assert (cause.cause, cause.where) == ("input", "train.py:3")
    assert cause.share == pytest.approx(54 / 124)


def test_what_was_not_there_is_not_called_fine() -> None:
    said = str(Answer(same(*computed(), STEP, tail=2.0)))
    for absent in ("the loaders", "the shares of the data", "copies", "buffers"):
        assert absent not in said
    assert "synchronization" in said


def test_what_waited_for_a_core_is_no_work() -> None:
    told = same(*computed(), STEP, tail=2.0, overlap=8.0)
    for step in told[1].steps:  # another program had the core of rank 1 for 50 ms
        for slice_ in step.slices:
            slice_.end += 0.05 if slice_.kind == "forward" else 0.0
            slice_.queued += 0.05 if slice_.kind == "forward" else 0.0
        step.end += 0.05
    assert first(told).cause == "computing"


def test_what_messages_between_two_do_not_tell_is_not_guessed() -> None:
    told = ranks([*computed(), ONE_TO_ONE, STEP], [*computed(), STEP])
    answer = Answer(told)
    assert answer.causes[0].cause == "computing"
    assert "Not decided: who is late where ranks send to one another" in str(answer)


def test_two_causes_of_about_one_size_are_both_named() -> None:
    told = same(did("input", 60, "train.py:3"), *computed(), did("python", 50, "t.py:4"), tail=2.0)
    answer = Answer(told)
    assert [cause.cause for cause in answer.causes[:2]] == ["input", "python"]
    assert "Not decided: which of input and python is the larger" in str(answer)


def test_what_cannot_be_watched_is_one_sentence() -> None:
    healthy = same(*computed(), STEP, tail=2.0)
    with pytest.raises(CourseError, match="This was one process"):
        Answer([replace(healthy[0], world=1)])
    with pytest.raises(CourseError, match="its ranks know nothing"):
        Answer([replace(rank, backend="") for rank in healthy])
    with pytest.raises(CourseError, match="Only 7 training steps of rank 0 were seen"):
        Answer([replace(rank, steps=rank.steps[:2], seen=7) for rank in healthy])
