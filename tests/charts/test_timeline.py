"""Timelines: a real trace of two Gloo ranks, a made-up GPU trace, and traces that are refused."""

import json
import math
import shutil
from pathlib import Path

import pytest

from course.charts import intervals, timeline
from course.core.errors import CourseError

# Recorded from two ranks of DDP over Gloo on the CPU with torch 2.13, and trimmed.
REAL = Path(__file__).parent / "recorded"


def test_a_real_trace_of_two_ranks():
    table = timeline.read(REAL).table()
    assert list(table.columns) == [
        "rank",
        "step",
        "step_ms",
        "comm_ms",
        "overlap_pct",
        "exposed_ms",
    ]
    assert list(zip(table["rank"], table["step"], strict=True)) == [(0, 4), (0, 5), (1, 4), (1, 5)]
    # Read off the trace by hand: rank 0's ProfilerStep#4 lasts 48.52 ms; its four all-reduces run
    # without a pause from 9.84 to 37.36 ms, of which backward computes until about 20 ms.
    first = table.iloc[0]
    assert first["step_ms"] == pytest.approx(48.52, abs=0.01) and first["comm_ms"] == pytest.approx(
        27.52, abs=0.01
    )
    assert first["exposed_ms"] == pytest.approx(17.5, abs=0.1) and first[
        "overlap_pct"
    ] == pytest.approx(36, abs=1)


def test_phases_of_a_real_step_follow_one_another():
    step = timeline.read(REAL).ranks[0][0]
    forward, backward, optimizer = (
        step.phases[phase] for phase in ("forward", "backward", "optimizer")
    )
    assert forward[-1][1] <= backward[0][0] and backward[-1][1] <= optimizer[0][0]
    assert intervals.length(backward) == pytest.approx(
        13, abs=0.5
    )  # waiting for the network is not computing
    assert {name for _, _, name in step.comm} == {"all_reduce"}
    everything = [interval for spans in step.phases.values() for interval in spans]
    assert intervals.length(everything) == pytest.approx(
        intervals.length(intervals.union(everything))
    )


def test_a_drawing_has_a_lane_for_each_rank_and_states_the_overlap():
    read = timeline.read(REAL)
    picture = read.draw(step=4)
    assert "49 % of the communication runs while the ranks compute" in picture.alt
    assert "Rank 0" in picture and "Rank 1" in picture and "all_reduce" in picture
    assert read.draw() == read.draw(step=5) != picture


def test_one_host_has_one_clock_two_hosts_have_two(tmp_path):
    shutil.copytree(REAL, tmp_path, dirs_exist_ok=True)
    trace = json.loads((tmp_path / "rank1.json").read_text())
    (tmp_path / "rank1.json").write_text(json.dumps(trace | {"host_name": "elsewhere"}))
    same, different = timeline.read(REAL), timeline.read(tmp_path)
    assert same.one_clock and not different.one_clock
    assert same.draw(4) != different.draw(4)


def test_a_comparison_names_the_runs():
    read = timeline.read(REAL)
    picture = timeline.compare([("naive", read), ("overlapped", read)], step=5)
    assert "naive: 39 ms per step, 87 % of the communication hidden" in picture
    assert picture.count("Rank 1") == 2
    with pytest.raises(CourseError, match="nothing to compare"):
        timeline.compare([])


def _event(name, category, start_ms, end_ms, thread=1, **args):
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "tid": thread,
        "ts": start_ms * 1e3,
        "dur": (end_ms - start_ms) * 1e3,
        "args": args,
    }


def _write(folder, *events, **more):
    (folder / "rank0.json").write_text(json.dumps({"traceEvents": events, **more}))
    return folder


def test_a_wait_inside_the_backward_range_is_not_computing(tmp_path):
    """All-reduces of each parameter after backward hide nothing, however short the pauses."""
    _write(
        tmp_path,
        _event("ProfilerStep#1", "user_annotation", 0, 10),
        _event("aten::mm", "cpu_op", 0, 4),
        _event("c10d::allreduce_", "cpu_op", 4.0, 4.01),
        _event("gloo:all_reduce", "user_annotation", 4.02, 4.12, thread=2),
        _event("aten::div_", "cpu_op", 4.13, 4.14),
        _event("c10d::allreduce_", "cpu_op", 4.14, 4.15),
        _event("gloo:all_reduce", "user_annotation", 4.16, 6, thread=2),
        _event("aten::add_", "cpu_op", 6, 8),
        _event(
            "aten::copy_", "cpu_op", 4.5, 5.5, thread=2
        ),  # Gloo's own work is not the rank's computing
    )
    (row,) = timeline.read(tmp_path).table().to_dict("records")
    assert row["overlap_pct"] == 0 and row["exposed_ms"] == row["comm_ms"] == 1.94


def test_on_a_gpu_kernels_count_by_the_phase_that_launched_them(tmp_path):
    kernel, launch = "kernel", "cuda_runtime"
    nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    events = []
    for step, at in ((7, 0), (8, 100)):
        events += [
            _event(f"ProfilerStep#{step}", "user_annotation", at, at + 40),
            _event(f"ProfilerStep#{step}", "gpu_user_annotation", at + 5, at + 90, thread=7),
            _event("forward", "user_annotation", at, at + 10),
            _event(
                "autograd::engine::evaluate_function: MmBackward0",
                "cpu_op",
                at + 10,
                at + 30,
                thread=2,
            ),
            _event("Optimizer.step#SGD.step", "user_annotation", at + 30, at + 40),
            # The GPU is still busy with the last step's optimizer when this forward is launched.
            _event("Optimizer.step#SGD.step", "gpu_user_annotation", at, at + 5, thread=7),
            _event("aten::mm", "cpu_op", at, at + 40),
        ]
        ran = [("gemm", 2, 5, 25), ("gemm", 12, 25, 60), (nccl, 20, 40, 70), ("gemm", 35, 70, 75)]
        for i, (name, launched, start, end) in enumerate(ran):
            events.append(
                _event(
                    "cudaLaunchKernel",
                    launch,
                    at + launched,
                    at + launched + 0.01,
                    correlation=at + i,
                )
            )
            events.append(
                _event(
                    name,
                    kernel,
                    at + start,
                    at + end,
                    thread=7 + (name == nccl),
                    correlation=at + i,
                )
            )
    first, last = timeline.read(_write(tmp_path, *events)).ranks[0]
    assert (first.number, first.step_ms, last.step_ms) == (
        7,
        100,
        70,
    )  # the last step ends with its last kernel
    phases = {phase: [tuple(map(round, i)) for i in spans] for phase, spans in first.phases.items()}
    assert phases == {"forward": [(0, 20)], "backward": [(20, 55)], "optimizer": [(65, 70)]}
    assert [name for _, _, name in first.comm] == ["all_reduce"]
    assert first.exposed_ms == pytest.approx(10) and first.overlap == pytest.approx(2 / 3)


def test_a_step_without_communication_has_no_overlap_to_speak_of(tmp_path):
    read = timeline.read(
        _write(
            tmp_path,
            _event("ProfilerStep#1", "user_annotation", 0, 9),
            _event("aten::mm", "cpu_op", 0, 8),
        )
    )
    assert math.isnan(read.table()["overlap_pct"][0])
    assert "No communication" in read.draw().alt


def test_what_cannot_be_read_is_one_sentence(tmp_path):
    with pytest.raises(CourseError, match=r"no trace rank0\.json"):
        timeline.read(tmp_path / "nowhere")
    for broken in ("{", "[]", "{}", '{"traceEvents": [{"ph": "X"}]}'):
        (tmp_path / "rank0.json").write_text(broken)
        with pytest.raises(CourseError, match=r"not a trace of torch\.profiler"):
            timeline.read(tmp_path)
    _write(tmp_path, _event("aten::mm", "cpu_op", 0, 1))
    with pytest.raises(CourseError, match="no profiled step"):
        timeline.read(tmp_path)
    with pytest.raises(CourseError, match="Step 9 was not profiled; these were: 4, 5"):
        timeline.read(REAL).draw(step=9)
