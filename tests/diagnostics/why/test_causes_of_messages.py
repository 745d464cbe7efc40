"""Causes in the messages between ranks are found in made-up steps."""

from dataclasses import replace

import pytest
from support.made_steps import (
    MIB,
    STEP,
    average,
    computed,
    did,
    first,
    message,
    rank,
    ranks,
    same,
    script,
    step,
)

from course.diagnostics import WhyAnswer
from course.diagnostics.profiling.timeline import ASYNC, Ddp


def test_messages_begin_when_backward_is_over() -> None:
    cause = first(same(*computed(), average(30), STEP))
    assert (cause.name, cause.line) == ("no overlap", "train.py:10")
    assert cause.share == pytest.approx(30 / 92)
    cause = first(same(*computed(), STEP, tail=30.0, buckets=(10 * MIB,)))
    assert cause.name == "no overlap"


def test_messages_are_too_large_to_hide() -> None:
    cause = first(same(*computed(), STEP, tail=60.0, overlap=30.0, buckets=(25 * MIB,) * 4))
    assert cause.name == "bandwidth"
    assert cause.share == pytest.approx(60 / 122)
    begun = message(f"all_reduce, {ASYNC}", 60, 10 * MIB, "train.py:10", within="backward")
    assert first(same(*computed(), begun, STEP)).name == "bandwidth"


def test_what_backward_could_not_hide_anyway_is_size() -> None:
    causes = WhyAnswer(same(*computed(), average(200), STEP)).causes
    assert [cause.name for cause in causes[:2]] == ["bandwidth", "no overlap"]
    assert causes[0].share == pytest.approx(160 / 262)


def test_many_small_messages() -> None:
    small = [average(1, 60_000) for _ in range(60)]
    assert first(same(*computed(), *small, STEP)).name == "latency"
    assert first(same(*computed(), STEP, tail=60.0, buckets=(4096,) * 60)).name == "latency"


def test_one_small_message_is_not_too_large() -> None:
    assert first(same(*computed(), STEP, tail=30.0, buckets=(4096,))).name == "latency"
    mixed = WhyAnswer(same(*computed(), STEP, tail=60.0, overlap=30.0, buckets=(4096, 25 * MIB)))
    assert mixed.causes[0].name == "bandwidth"


def test_messages_that_now_and_then_wait_for_a_core_are_not_slow() -> None:
    """The times are from a healthy script: four ranks on two cores, next to three busy programs."""
    waits = [0.3, 0.3, 0.4, 0.4, 0.4, 0.5, 0.6, 1.4, 1.8, 3.2]
    waits += [3.7, 4.6, 6.8, 7.9, 8.7, 10.6, 11.1, 13.6, 14.1, 15.9]
    steps = [
        step([*computed(8, 5), average(ms, MIB), STEP], float(n)) for n, ms in enumerate(waits)
    ]
    reports = [
        rank(number, steps, 2, gradients=MIB, largest_gradient=MIB // 3) for number in range(2)
    ]
    assert first(reports).name == "computing"
    on_gpus = [replace(report, device="cuda", on_gpu=report.steps) for report in reports]
    assert first(on_gpus).name == "no overlap"  # messages of GPUs do not wait for a core


def test_what_is_sent_in_every_fourth_step_counts_whole() -> None:
    averaged = [*computed(8, 5), average(40, MIB), STEP]
    steps = [step(averaged if n % 4 == 3 else [*computed(8, 5), STEP], float(n)) for n in range(20)]
    reports = [rank(number, steps, 2, gradients=MIB) for number in range(2)]
    assert first(reports).name == "no overlap"
    assert first(reports).share == pytest.approx(8 / (15 + 10))  # of 10 ms, as long as backward


def test_what_the_passes_themselves_wait_for_is_not_late() -> None:
    """For example FSDP, which gathers parameters and scatters gradients."""
    gathered = message("all_gather_into_tensor", 15, 4 * MIB, "train.py:7", within="forward")
    scattered = message("reduce_scatter_tensor", 15, 4 * MIB, "train.py:8", within="backward")
    causes = WhyAnswer(same(gathered, *computed(), scattered, STEP)).causes
    assert causes[0].name == "bandwidth"
    assert "no overlap" not in {cause.name for cause in causes}


def test_what_a_sharded_model_gathers_is_a_price_and_no_fault() -> None:
    gathers = [
        message("all_gather_into_tensor", 30, 4 * MIB, f"train.py:{line}", within=within)
        for line, within in ((7, "forward"), (8, "backward"))
    ]
    scattered = message("reduce_scatter_tensor", 20, 4 * MIB, "train.py:8", within="backward")
    steps = [gathers[0], *computed(), gathers[1], scattered, STEP]
    answer = WhyAnswer(same(*steps, settings=script(sharded="fully_shard")))
    assert [cause.name for cause in answer.causes] == [
        "computing",
        "gathering weights",
        "bandwidth",
    ]
    assert [cause.share for cause in answer.causes[1:]] == pytest.approx([60 / 142, 20 / 142])
    assert all(finding.note for finding in answer.findings)
    assert "`reshard_after_forward=False`" in str(answer)
    kept = [gathers[0], *computed(), scattered, STEP]
    answer = WhyAnswer(same(*kept, settings=script(sharded="fully_shard")))
    assert "already" in answer.causes[1].cure


def test_small_messages_of_a_sharded_model_are_latency() -> None:
    gathers = [
        message("all_gather_into_tensor", 1, 60_000, "train.py:7", within="forward")
        for _ in range(60)
    ]
    cause = first(same(*gathers, *computed(), STEP, settings=script(sharded="fully_shard")))
    assert (cause.name, cause.share) == ("latency", pytest.approx(60 / 122))


def test_a_single_large_gradient_may_be_the_last() -> None:
    reports = same(*computed(), average(30), STEP, settings={"largest_gradient": 9_800_000})
    assert first(reports).name == "bandwidth"


def test_passes_that_take_no_step_average_gradients() -> None:
    reports = same(*computed() * 4, STEP, tail=40.0, overlap=20.0)
    cause = first(reports)
    assert cause.name == "accumulation"
    assert cause.share == pytest.approx(120 / (240 + 160 + 2))
    assert first(same(*[*computed(), average(40)] * 4, STEP)).name == "accumulation"


def test_parameters_gathered_for_forward_are_no_accumulation() -> None:
    gathered = message("all_gather_into_tensor", 40, 10 * MIB, "train.py:7", within="forward")
    reports = same(*[gathered, *computed()] * 2, STEP)
    assert "accumulation" not in {cause.name for cause in WhyAnswer(reports).causes}


def test_gradients_averaged_in_vain_are_a_fault_however_short_their_messages_are() -> None:
    answer = WhyAnswer(same(*computed() * 4, STEP, tail=6.0, overlap=20.0))
    cause = answer.causes[0]
    assert (cause.name, cause.share) == ("accumulation", pytest.approx(18 / 266))
    assert not answer.findings[0].note


def test_the_passes_of_two_modules_are_no_accumulation() -> None:
    """The gradients of both are averaged, and then the optimizer of each takes a step."""
    steps = same(*computed() * 2, STEP, STEP, tail=40.0, overlap=20.0)
    assert first(steps).name == "accumulation"
    for rank_ in steps:
        for training_step in rank_.steps:
            training_step.passes[1].module = 2
    assert {cause.name for cause in WhyAnswer(steps).causes} == {"bandwidth"}


def test_several_optimizers_in_a_step_are_no_accumulation() -> None:
    reports = same(*computed(), STEP, *computed(), STEP, tail=40.0, overlap=20.0)
    assert {cause.name for cause in WhyAnswer(reports).causes} == {"bandwidth"}


@pytest.mark.parametrize("name", ["barrier", "all_gather_object", "monitored_barrier"])
def test_the_script_makes_ranks_meet(name: str) -> None:
    meets = message(name, 40, 0, "train.py:11", within="python")
    cause = first(same(*computed(), STEP, meets, tail=2.0))
    assert (cause.name, cause.line) == ("synchronization", "train.py:11")
    assert cause.share == pytest.approx(40 / 104)


def test_a_reduced_loss_is_synchronization_wherever_it_is_reduced() -> None:
    loss = message("all_reduce", 40, 4, "train.py:11", within="gradients")
    assert first(same(*computed(), loss, STEP, tail=2.0)).name == "synchronization"
    early = replace(loss, within="forward")
    assert first(same(early, *computed(), STEP, tail=2.0)).name == "synchronization"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("barrier", "collective"), ("all_reduce", "collective"), ("all_reduce", "buffers")],
)
def test_what_is_sent_once_in_an_epoch_is_a_note_that_says_how_often(name: str, kind: str) -> None:
    epoch_end = did(kind, 200, "train.py:11", name=name, nbytes=4, within="python")
    work = [*computed(8, 5), STEP]
    steps = [step([*work, epoch_end] if n % 5 == 4 else work, float(n)) for n in range(20)]
    answer = WhyAnswer([rank(number, steps, 2) for number in range(2)])
    computing, cause = answer.causes
    assert (computing.name, cause.line) == ("computing", "train.py:11")
    assert cause.share == pytest.approx(40 / 55)
    assert "in 4 of 20 steps" in cause.says and "happens only in 4 of 20 steps" in cause.cure
    assert answer.findings[0].note


def test_the_line_of_a_meeting_is_in_each_step_and_so_is_its_cure() -> None:
    rare = message("all_reduce", 50, 4, "train.py:11", within="python")
    often = message("barrier", 20, 0, "train.py:12", within="python")
    work = [*computed(8, 5), STEP, often]
    steps = [step([*work, rare] if n % 5 == 4 else work, float(n)) for n in range(20)]
    cause = first([rank(number, steps, 2) for number in range(2)])
    assert (cause.name, cause.line) == ("synchronization", "train.py:12")
    assert "makes the ranks meet in each step" in cause.says and "barrier" in cause.cure


def test_buffers_are_broadcast() -> None:
    table = did("buffers", 40, "train.py:7", name="broadcast", nbytes=50 * MIB, within="forward")
    reports = same(table, *computed(), STEP, tail=2.0, settings=script(Ddp(ranks=2, forwards=10)))
    cause = first(reports)
    assert (cause.name, cause.line) == ("buffers", "train.py:7")
    assert "Rank 0's buffers are sent to all before each forward pass" in cause.says
    by_hand = first(same(table, *computed(), STEP, tail=2.0))
    assert "The script itself sends the model's buffers in each step" in by_hand.says


def test_who_waits_in_a_broadcast_of_buffers_does_not_accuse_it() -> None:
    early, late = (did("buffers", ms, name="broadcast", nbytes=MIB) for ms in (51, 1))
    slow = did("python", 50, "train.py:3")
    reports = ranks([early, *computed(), STEP], [slow, late, *computed(), STEP], tail=2.0)
    cause = first(reports)
    assert (cause.name, cause.rank, cause.step_part) == ("straggler", 1, "outside the step")


def test_the_cure_knows_layers_that_are_split_from_gradients() -> None:
    summed = message("all_reduce", 30, 4 * MIB, "layers.py:3", within="forward")
    back = replace(summed, within="backward", where="layers.py:9")
    answer = WhyAnswer(same(summed, *computed(), back, STEP))
    assert answer.causes[0].name == "bandwidth"
    assert "not gradients" in str(answer) and "Lab 11" in str(answer)
    answer = WhyAnswer(same(summed, *computed(), back, average(300), STEP))
    assert answer.causes[0].name == "bandwidth"
    assert "16-bit gradients" in str(answer) and "Lab 05b" in str(answer)


def test_gradients_of_passes_that_are_not_seen_are_not_of_split_layers() -> None:
    """Those of `torch.func.grad`, and those that are averaged after another call of the model."""
    summed = message("all_reduce", 10, 60_000, "train.py:7", within="forward")
    for begin in ([did("forward", 20, "train.py:6")], computed()):
        cause = first(same(*begin, *[summed] * 4, STEP))
        assert cause.name == "latency"
        assert "not gradients" not in cause.cure and cause.lab == "03b"
    assert "or use DDP" in cause.cure
    assert "DDP" not in first(same(did("forward", 20), *[summed] * 4, STEP)).cure


AVERAGING = average(30)
SMALL = [average(1, 60_000) for _ in range(60)]
MEETS = message("barrier", 40, 0, "train.py:11", within="python")


@pytest.mark.parametrize(
    ("cause", "slices", "of_step"),
    [
        ("no overlap", [*computed(), AVERAGING, STEP], {}),
        ("bandwidth", [*computed(), STEP], {"tail": 60.0, "overlap": 30.0}),
        ("latency", [*computed(), *SMALL, STEP], {}),
        ("accumulation", [*computed() * 4, STEP], {"tail": 40.0, "overlap": 20.0}),
        ("synchronization", [*computed(), STEP, MEETS], {"tail": 2.0}),
        ("buffers", [did("buffers", 40), *computed(), STEP], {"tail": 2.0}),
    ],
)
@pytest.mark.parametrize("count", [3, 4, 8])
def test_more_ranks(cause: str, slices: list, of_step: dict, count: int) -> None:
    first_ = first(same(*slices, count=count, **of_step))
    assert (first_.name, first_.rank) == (cause, None)


@pytest.mark.parametrize("count", [3, 4, 8])
def test_a_message_costs_what_it_takes_the_rank_that_comes_last(count: int) -> None:
    of_ranks = [
        [*computed(), message("barrier", 40 + 10 * n, 0, "train.py:11", within="gradients")]
        for n in range(count)
    ]
    late = [did("python", 10 * (count - 1 - n)) for n in range(count)]
    reports = ranks(*([*slices, more] for slices, more in zip(of_ranks, late, strict=True)))
    share = next(c.share for c in WhyAnswer(reports).causes if c.name == "synchronization")
    assert share == pytest.approx(40 / (100 + 10 * (count - 1)))
