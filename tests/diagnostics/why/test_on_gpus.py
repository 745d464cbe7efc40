"""Causes are found in what a GPU did: in made-up activities, and in two recorded traces."""

import json
import time
from pathlib import Path

import pytest
import torch
from support.made_steps import rank

from course.charts.traces import Activity, activities
from course.diagnostics import WhyAnswer
from course.diagnostics.profiling.timeline import (
    NO_PROFILER,
    NOTHING,
    TOO_SHORT,
    RankReport,
    Slice,
    TrainingStep,
)
from course.diagnostics.why import devices

# Trimmed traces of A100s from HolisticTraceAnalysis (recorded/LICENSE): parameters are copied to
# the GPU from pageable memory, and a part of a backward pass runs on one of two ranks.
RECORDED = Path(__file__).with_name("recorded")
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
PAGEABLE = "Memcpy HtoD (Pageable -> Device)"


def done(name: str, start: float, end: float, launched: float) -> Activity:
    """An activity of a GPU, with times in ms since a step began."""
    return Activity(name, start, end, launched)


def host(*parts: tuple[str, float], start: float = 0.0, **more: object) -> TrainingStep:
    """A step of the main thread, from kinds of work and how many ms each took."""
    slices, moment, begun = [], start, 0
    for kind, length in parts:
        begun += kind == "backward"
        slices.append(
            Slice(
                kind, moment, moment + length, where=f"train.py:{len(slices)}", passes_begun=begun
            )
        )
        moment += length
    return TrainingStep(start, moment, slices, **more)


def kinds(step: TrainingStep) -> list[tuple[str, float, float]]:
    """The kind, start and end of each slice of a step."""
    return [(slice_.kind, slice_.start, slice_.end) for slice_ in step.slices]


# In each 100 ms, the main thread takes 20 ms to launch a forward pass, a backward pass and the
# optimizer's step, and waits for the loader in the rest.
FED = (("forward", 8), ("backward", 8), ("optimizer", 4), ("input", 80))


def test_a_gpu_lags_behind_and_its_steps_end_with_what_was_launched_in_them():
    steps = [host(*FED[:3], start=20.0 * n) for n in range(3)]
    work = [
        done(name, 100 * n + start, 100 * n + end, 20 * n + launched)
        for n in range(3)
        for name, start, end, launched in (
            ("gemm", 0, 40, 1),
            ("gemm", 40, 90, 9),
            (NCCL, 60, 95, 10),
            ("adam", 95, 100, 17),
        )
    ]
    on_gpu = devices.steps(work, steps)
    assert [(step.start, step.end) for step in on_gpu] == [(100, 200), (200, 300)]
    assert kinds(on_gpu[0]) == [
        ("forward", 100, 140),
        ("backward", 140, 190),
        ("tail", 190, 195),
        ("optimizer", 195, 200),
    ]
    (pass_,) = on_gpu[0].passes
    assert (pass_.start, pass_.end) == (140, 190)
    assert (pass_.computing, pass_.communicating, pass_.overlap) == (50, 35, 30)


def test_an_idle_gpu_waits_for_what_the_main_thread_does():
    parts = (("input", 30), ("copies", 10), ("forward", 5), ("backward", 15), ("optimizer", 10))
    steps = [host(*parts, start=70.0 * n) for n in range(2)]
    work = [
        done(name, 70 * n + start, 70 * n + end, 70 * n + start)
        for n in range(2)
        for name, start, end in (
            (PAGEABLE, 33, 38),
            ("gemm", 42, 45),
            ("gemm", 46, 60),
            ("adam", 62, 69),
        )
    ]
    (step,) = devices.steps(work, steps)
    assert kinds(step) == [
        ("launching", 69, 70),
        ("input", 70, 100),
        ("copies", 100, 110),
        ("launching", 110, 112),
        ("forward", 112, 115),
        ("launching", 115, 116),
        ("backward", 116, 130),
        ("launching", 130, 132),
        ("optimizer", 132, 139),
    ]
    lines = {slice_.kind: slice_.where for slice_ in step.slices}
    assert (lines["input"], lines["copies"]) == ("train.py:0", "train.py:1")


def test_a_wait_for_others_is_told_as_the_main_thread_told_its_call():
    meets = Slice("collective", 10, 11, where="train.py:9", name="all_reduce", nbytes=4)
    steps = [
        TrainingStep(0, 10, [Slice("forward", 0, 10)]),
        TrainingStep(10, 20, [meets, Slice("python", 11, 20)]),
    ]
    work = [
        done("gemm", 0, 12, 0),
        done(NCCL, 12, 15, 10.5),
        done("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 15, 18, 12),
    ]
    (step,) = devices.steps(work, steps)
    sent, received = [slice_ for slice_ in step.slices if slice_.kind == "collective"]
    assert (sent.name, sent.nbytes, sent.where) == ("all_reduce", 4, "train.py:9")
    assert (received.name, received.start, received.end) == ("recv", 15, 18)


def on_gpus(*of_ranks: list[tuple[str, float, float, float]], count: int = 10) -> list[RankReport]:
    """Ranks whose GPUs did this in each step of 100 ms; the main threads do what `FED` says."""
    reports = []
    for number, activities_ in enumerate(of_ranks):
        steps = [
            host(*[(kind, ms / 1e3) for kind, ms in FED], start=0.1 * n) for n in range(count + 1)
        ]
        work = [
            Activity(name, *(0.1 * n + ms / 1e3 for ms in times))
            for n in range(count + 1)
            for name, *times in activities_
        ]
        mine = rank(number, steps, len(of_ranks), device="cuda", backend="nccl")
        mine.on_gpu = devices.steps(work, steps)
        reports.append(mine)
    return reports


BUSY = [("gemm", 1, 40, 1), ("gemm", 40, 92, 9), ("adam", 94, 99, 17)]
HIDDEN = [("gemm", 1, 40, 1), ("gemm", 40, 92, 9), (NCCL, 60, 93, 10), ("adam", 93, 99, 17)]


@pytest.mark.parametrize(
    ("done_", "cause", "share"),
    [
        (HIDDEN, "computing", 0.97),
        ([(PAGEABLE, 1, 41, 1), ("gemm", 41, 92, 9), ("adam", 92, 99, 17)], "copies", 0.4),
        ([("gemm", 1, 20, 1), ("gemm", 20, 30, 9), ("adam", 30, 35, 17)], "input", 0.65),
        ([("gemm", 1, 20, 1), ("gemm", 20, 40, 9), (NCCL, 30, 90, 10), ("adam", 90, 99, 17)],
         "bandwidth", 0.5),
        ([("gemm", 1, 20, 1), ("gemm", 20, 60, 9), (NCCL, 60, 90, 16), ("adam", 90, 99, 17)],
         "no overlap", 0.3),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ranks", [2, 4])
def test_causes_on_gpus(done_: list, cause: str, share: float, ranks: int) -> None:
    first = WhyAnswer(on_gpus(*[done_] * ranks)).causes[0]
    assert (first.name, first.rank) == (cause, None)
    assert first.share == pytest.approx(share, abs=0.005)


def test_a_gpu_that_comes_late_is_a_straggler():
    waits = [("gemm", 1, 20, 1), ("gemm", 20, 50, 9), (NCCL, 50, 90, 10), ("adam", 90, 99, 17)]
    late = [("gemm", 1, 50, 1), ("gemm", 50, 80, 9), (NCCL, 80, 90, 10), ("adam", 90, 99, 17)]
    first = WhyAnswer(on_gpus(waits, waits, late)).causes[0]
    assert (first.name, first.rank, first.step_part) == ("straggler", 2, "forward")
    assert first.share == pytest.approx(0.3, abs=0.005)


def test_gpus_that_wait_for_launches_are_no_cause_but_said():
    slow = [("gemm", 1, 2, 1), ("gemm", 10, 11, 9), ("gemm", 19, 96, 15), ("adam", 96, 100, 17)]
    reports = on_gpus(slow, slow)
    answer = WhyAnswer(reports)
    assert answer.causes[0].name == "computing"
    assert "17 % of a step while torch.profiler" in " ".join(str(answer).split())


def test_the_steps_that_were_not_recorded_are_told_beside():
    text = " ".join(str(WhyAnswer(on_gpus(BUSY, BUSY))).split())
    assert "the mean of 10 steps on 2 ranks while torch.profiler recorded the GPUs" in text
    assert "before it did, 100 ms" in text
    assert "copies" in text and "threads" not in text


def test_without_the_gpus_own_times_nobody_is_accused():
    reports = on_gpus(BUSY, BUSY)
    for report in reports:  # by the clock of the main thread, four fifths of a step are input
        report.on_gpu, report.gpu_unknown_because = [], NO_PROFILER
    answer = WhyAnswer(reports)
    assert answer.causes == [] and answer.plain()["causes"] == []
    text = " ".join(str(answer).split())
    assert text.startswith("A step takes 100 ms, the mean of 11 steps on 2 ranks, by the clock")
    assert f"where the time of a step goes. The ranks compute on GPUs, and {NO_PROFILER}" in text
    assert "fine" not in text
    assert (
        "Undecided" in answer.picture
        and "the Python that feeds each GPU" in answer.picture
        and repr(answer) == "<WhyAnswer: undecided>"
    )


def test_a_fact_is_said_without_the_gpus_own_times():
    reports = on_gpus(BUSY, BUSY)
    for report in reports:
        report.on_gpu, report.gpu_unknown_because = [], NO_PROFILER
        for step in report.steps:
            step.rows = step.model_rows = list(range(8))
            step.slices.insert(3, Slice("tail", step.slices[2].end, step.slices[2].end))
    assert [cause.name for cause in WhyAnswer(reports).causes] == ["not sharded"]


@pytest.mark.parametrize("name", ["copies", "messages"])
def test_a_recorded_trace_is_told_as_a_look_at_each_microsecond_tells_it(name: str) -> None:
    trace = json.loads((RECORDED / f"{name}.json").read_text())
    zero = min(event["ts"] for event in trace["traceEvents"])
    raw = [event for event in trace["traceEvents"] if event["cat"] != "cuda_runtime"]
    work = activities(RECORDED / f"{name}.json")
    assert len(work) == len(raw)
    begin, end = min(activity.launched for activity in work), max(activity.end for activity in work)
    steps = [TrainingStep(begin - 1, begin, [Slice("forward", begin - 1, begin)])]
    steps += [TrainingStep(begin, end, [Slice("backward", begin, end)])]
    (step,) = devices.steps(work, steps)

    seen = dict.fromkeys(("backward", "tail", "copies", "launching"), 0)
    for moment in range(round(1e6 * (end - begin))):
        at = zero + moment + 0.5
        running = [event for event in raw if event["ts"] <= at < event["ts"] + event["dur"]]
        names = {event["name"][:4] for event in running}
        copies = {event["name"] for event in running} == {PAGEABLE}
        kind = "launching" if not names else "copies" if copies else "backward"
        seen["tail" if names == {"nccl"} else kind] += 1
    for kind, microseconds in seen.items():
        seconds = sum(slice_.end - slice_.start for slice_ in step.slices if slice_.kind == kind)
        assert 1e6 * seconds == pytest.approx(microseconds, rel=0.02, abs=20), kind
    assert seen["copies" if name == "copies" else "backward"] > 1_000


def test_the_traces_clock_is_that_of_the_calendar(tmp_path: Path) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        began = time.time()
        with torch.profiler.record_function("here"):
            pass
        ended = time.time()
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    for event in trace["traceEvents"]:  # as if it were a GPU's work
        event["cat"] = "kernel" if event["name"] == "here" else event.get("cat")
    (tmp_path / "trace.json").write_text(json.dumps(trace))
    (activity,) = activities(tmp_path / "trace.json")
    assert began - 0.001 <= activity.start <= activity.end <= ended + 0.001


def test_why_a_gpu_is_not_known(tmp_path: Path) -> None:
    steps = [host(*FED, start=100.0 * n) for n in range(6)]
    trace = tmp_path / "gpu0.json"
    for text, recorded, says in (
        ('{"traceEvents": []}', steps, NOTHING),
        ((RECORDED / "copies.json").read_text(), steps[:3], TOO_SHORT),
        ("{", steps, "cannot be read"),
    ):
        trace.write_text(text)
        mine = rank(0, steps, device="cuda", recorded=recorded)
        devices.see(mine, trace)
        assert says in mine.gpu_unknown_because and not mine.on_gpu
