"""Each cause is found in made-up steps in which nothing else is wrong."""

from dataclasses import replace

import pytest
from support.made_steps import MIB, STEP, computed, did, first, message, ranks, same, script

from course.core import CourseError
from course.diagnostics import WhyAnswer
from course.diagnostics.profiling.recorder import WARM_UP
from course.diagnostics.profiling.timeline import Ddp

# A message in which the first rank waits for the second.
ONE_TO_ONE = message("recv", 50, 4 * MIB, "train.py:5", within="gradients")


@pytest.mark.parametrize("count", [2, 4])
def test_nothing_is_wrong(count: int) -> None:
    cause = first(same(*computed(), STEP, count=count, tail=2.0, overlap=8.0))
    assert (cause.name, cause.rank) == ("computing", None)
    assert cause.share == pytest.approx(62 / 64)


@pytest.mark.parametrize(
    ("kind", "name"), [("input", "input"), ("python", "python"), ("optimizer", "optimizer")]
)
@pytest.mark.parametrize("count", [2, 4])
def test_all_ranks_spend_their_time_elsewhere(kind: str, name: str, count: int) -> None:
    reports = same(did(kind, 58, "train.py:3"), *computed(), tail=2.0, overlap=8.0, count=count)
    cause = first(reports)
    assert (cause.name, cause.rank, cause.line) == (name, None, "train.py:3")
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
    longer = [
        replace(slice_, end=slice_.end + 0.05) if slice_.kind == kind else slice_ for slice_ in work
    ]
    reports = ranks(*[work] * late, longer, tail=[52.0] * late + [2.0], overlap=[8.0] * count)
    cause = first(reports)
    assert (cause.name, cause.rank, cause.step_part) == ("straggler", late, where)
    assert cause.share == pytest.approx(50 / 134)
    assert cause.line == next(slice_.where for slice_ in work if slice_.kind == kind)


def test_more_in_forward_and_in_backward_is_one_straggler() -> None:
    even, late = computed(), [did("forward", 50, "train.py:7"), did("backward", 100, "train.py:8")]
    reports = ranks([*even, STEP], [*late, STEP], tail=[92.0, 2.0])
    causes = WhyAnswer(reports).causes
    assert [(cause.name, cause.rank, cause.step_part) for cause in causes] == [
        ("straggler", 1, "backward")
    ]
    assert causes[0].share == pytest.approx(90 / 154)


@pytest.mark.parametrize("often", [2, 3, 5])
@pytest.mark.parametrize("count", [2, 4])
def test_one_rank_is_late_in_some_steps(often: int, count: int) -> None:
    work = [*computed(), did("python", 2, "train.py:9")]
    reports = same(*work, STEP, count=count)
    for n in range(10):  # a little later in turns, as if by chance
        reports[n % count].steps[n].slices[0].end += 0.001
    for step in reports[0].steps[::often]:
        step.slices.append(did("python", 300, "train.py:12"))
    cause = first(reports)
    assert (cause.name, cause.rank, cause.line) == ("straggler", 0, "train.py:12")


def test_late_once_is_chance() -> None:
    reports = same(*computed(), STEP)
    reports[0].steps[4].slices.append(did("forward", 300, "train.py:7"))
    assert first(reports).name == "computing"


def test_ranks_are_late_in_turns() -> None:
    one, other = ([*computed(), did("forward", ms), STEP] for ms in (0.0, 120.0))
    reports = ranks(one, other, tail=[122.0, 2.0])
    for step, its in zip(reports[0].steps[::2], reports[1].steps[::2], strict=True):
        step.slices, its.slices = its.slices, step.slices
        step.passes, its.passes = its.passes, step.passes
        step.end, its.end = its.end, step.end
    cause = first(reports)
    assert (cause.name, cause.rank) == ("straggler", None)


def test_one_saves_and_the_others_wait() -> None:
    saves = [*computed(), STEP, did("saving", 60, "train.py:12")]
    barrier = [message("barrier", ms, 0, "train.py:13", within="python") for ms in (1, 61)]
    cause = first(ranks([*saves, barrier[0]], [*computed(), STEP, barrier[1]], tail=2.0))
    assert (cause.name, cause.rank, cause.line) == ("saving", 0, "train.py:12")
    assert cause.share == pytest.approx(60 / 125)


def test_saving_in_some_steps_counts_with_what_it_takes_on_average() -> None:
    reports = same(*computed(), STEP, tail=2.0)
    for rank in reports:
        last = rank.steps[-1]
        last.slices.append(did("saving", 640, "train.py:12"))
    cause = first(reports)
    assert (cause.name, cause.rank) == ("saving", None)
    assert cause.share == pytest.approx(0.5)


def test_unused_parameters_are_searched_for() -> None:
    searching = script(Ddp(finds_unused=True, ranks=2))
    work = [did("forward", 20), did("search", 1), did("backward", 40), STEP]
    reports = same(*work, tail=2.0, settings=searching)
    answer = WhyAnswer(reports)
    # It is mentioned, however little of it is visible, but it comes after everything else.
    assert [cause.name for cause in answer.causes] == ["computing", "unused parameters"]
    assert "Run once without find_unused_parameters=True" in " ".join(str(answer).split())
    beside = WhyAnswer(same(did("input", 40), *work, tail=2.0, settings=searching))
    assert [cause.name for cause in beside.causes] == ["input", "unused parameters"]
    for rank in reports:
        for pass_ in (ddp_pass for step in rank.steps for ddp_pass in step.passes):
            pass_.unused = 400  # bytes: so the search is needed
    assert first(reports).name == "computing"
    reports = same(*work, tail=2.0, settings=script(Ddp(ranks=2)))
    assert first(reports).name == "computing"


def test_a_search_sends_a_message_in_each_pass() -> None:
    work, settings = [*computed(), STEP], script(Ddp(finds_unused=True, ranks=2))
    one, other = WhyAnswer(same(*work, tail=62.0, buckets=(4096,), settings=settings)).causes[:2]
    assert (one.name, other.name) == ("unused parameters", "latency")  # one message each
    assert one.share == other.share == pytest.approx(31 / 124)
    reports = same(*work, tail=62.0, buckets=(4096,) * 9, settings=settings)
    first_, second = WhyAnswer(reports).causes[:2]
    assert (first_.name, second.name) == ("latency", "unused parameters")
    assert (first_.share, second.share) == pytest.approx((0.45, 0.05))
    for rank in reports:
        for pass_ in (ddp_pass for step in rank.steps for ddp_pass in step.passes):
            pass_.unused = 400  # so the search is needed
    assert {cause.name for cause in WhyAnswer(reports).causes} == {"latency"}


def test_the_wait_for_a_rank_that_did_not_report_is_no_search() -> None:
    settings = script(Ddp(finds_unused=True, ranks=2))
    reports = same(*computed(), STEP, tail=62.0, buckets=(4096,), settings=settings)
    assert [cause.name for cause in WhyAnswer(reports[:1]).causes] == ["computing"]


def test_what_watching_took_is_said_where_it_is_much() -> None:
    reports = same(*computed(), STEP)
    assert "Watching" not in str(WhyAnswer(reports))
    for rank in reports:
        for step in rank.steps:
            step.end += 0.008
    text = " ".join(str(WhyAnswer(reports)).split())
    assert "Watching itself took at least 8 ms of each step" in text


def test_more_threads_than_cores() -> None:
    work = [*computed(), STEP]
    crowded = {"threads": 8, "cores": 2, "queued_s": 4.0}
    assert first(same(*work, tail=2.0, settings=crowded)).name == "threads"
    for fine in ({"threads": 1}, {"cores": 16}, {"queued_s": 0.1}):
        reports = same(*work, tail=2.0, settings=crowded | fine)
        assert first(reports).name == "computing"


def test_all_draw_the_same_samples() -> None:
    work = [did("input", 1, "train.py:6"), *computed(), STEP]
    mine, theirs = list(range(8)), list(range(8, 16))
    cause = first(same(*work, tail=2.0, rows=[mine, mine]))
    assert (cause.name, cause.share, cause.line) == ("not sharded", 0.5, "train.py:6")
    assert first(same(*work, tail=2.0, rows=[mine, theirs])).name == "computing"
    alike = [7] * 8  # samples with the same data
    assert first(same(*work, tail=2.0, rows=[alike, alike])).name == "computing"
    assert first(same(*work, rows=[mine, mine])).name == "computing"  # nothing is averaged


def test_all_draw_from_all_samples_each_in_its_own_order() -> None:
    reports = same(*computed(), STEP, tail=2.0, settings={"dataset_size": 160})
    for rank, stride in zip(reports, (3, 7), strict=True):
        for number, step in enumerate(rank.steps):
            step.rows = [(8 * number + n) * stride % 160 for n in range(8)]
            step.model_rows = step.rows if number % 4 == 0 else []
    assert first(reports).name == "not sharded"
    for step in reports[1].steps:
        step.rows = [row + 160 for row in step.rows]
    assert first(reports).name == "computing"


def test_all_read_the_same_and_take_a_share_each() -> None:
    reports = same(*computed(), STEP, tail=2.0, rows=[list(range(8))] * 2)
    for rank in reports:
        for step in rank.steps:
            step.model_rows = step.rows[rank.rank :: 2]
    assert first(reports).name == "computing"


def test_ranks_that_share_a_sample_must_draw_the_same() -> None:
    rows = [list(range(8))] * 2
    split = message("all_reduce", 1, 1 * MIB, "layers.py:3", within="forward")
    text = str(WhyAnswer(same(split, *computed(), STEP, tail=2.0, rows=rows)))
    assert "not sharded" not in text and "the shares of the data" not in text
    two = script(Ddp(ranks=2))
    reports = same(*computed(), STEP, tail=2.0, rows=[*rows, *rows], count=4, settings=two)
    assert first(reports).name == "computing"
    assert first(reports[:2]).name == "computing"  # of four ranks, those of one machine


def test_what_a_model_was_called_with_may_be_unknown() -> None:
    reports = same(*computed(), STEP, tail=2.0, rows=[list(range(8))] * 2)
    for step in reports[0].steps:
        step.model_rows = []
    assert first(reports).name == "computing"
    for rank in reports:
        rank.script.ddp = [Ddp(ranks=2)]
    assert first(reports).name == "not sharded"


def test_samples_that_a_data_set_holds_twice_are_not_drawn_twice() -> None:
    reports = same(*computed(), STEP, tail=2.0, rows=[list(range(8))] * 2)
    for rank in reports:
        for number, step in enumerate(rank.steps):
            step.indices = [100 * rank.rank + 8 * number + n for n in range(8)]
    assert first(reports).name == "computing"
    for step in reports[1].steps:
        step.indices = [index - 100 for index in step.indices]
    assert first(reports).name == "not sharded"


def test_batches_of_an_iterator_are_input() -> None:
    work = [did("python", 60), *computed(), STEP]
    settings = {"iterating": 0.9, "lines": {"input": "train.py:3", "python": "train.py:3"}}
    cause = first(same(*work, tail=2.0, settings=settings))
    assert (cause.name, cause.line) == ("input", "train.py:3")
    assert cause.share == pytest.approx(54 / 124)


def test_what_was_not_there_is_not_called_fine() -> None:
    text = str(WhyAnswer(same(*computed(), STEP, tail=2.0)))
    for absent in ("the loaders", "the shares of the data", "copies", "buffers"):
        assert absent not in text
    assert "synchronization" in text


def test_what_waited_for_a_core_is_no_work() -> None:
    reports = same(*computed(), STEP, tail=2.0, overlap=8.0)
    for step in reports[1].steps:  # another program had the core of rank 1 for 50 ms
        for slice_ in step.slices:
            slice_.end += 0.05 if slice_.kind == "forward" else 0.0
            slice_.queued += 0.05 if slice_.kind == "forward" else 0.0
        step.end += 0.05
    assert first(reports).name == "computing"


def test_what_messages_between_two_do_not_tell_is_not_guessed() -> None:
    reports = ranks([*computed(), ONE_TO_ONE, STEP], [*computed(), STEP])
    answer = WhyAnswer(reports)
    assert answer.causes[0].name == "computing"
    assert "Not decided: which rank is late where ranks send to one another" in str(answer)


def test_two_causes_of_about_one_size_are_both_named() -> None:
    reports = same(
        did("input", 60, "train.py:3"), *computed(), did("python", 50, "t.py:4"), tail=2.0
    )
    answer = WhyAnswer(reports)
    assert [cause.name for cause in answer.causes[:2]] == ["input", "python"]
    assert "Not decided: which of input and python is the larger" in str(answer)


def test_what_cannot_be_watched_is_one_sentence() -> None:
    healthy = same(*computed(), STEP, tail=2.0)
    with pytest.raises(CourseError, match="This was one process"):
        WhyAnswer([replace(healthy[0], world=1)])
    with pytest.raises(CourseError, match="so its ranks know nothing"):
        WhyAnswer([replace(rank, backend="") for rank in healthy])
    with pytest.raises(CourseError, match=f"saw only 7 training steps on rank 0, .* {WARM_UP} are"):
        WhyAnswer([replace(rank, steps=rank.steps[:2], seen=7) for rank in healthy])
