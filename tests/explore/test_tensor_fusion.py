"""Tensor fusion: the model by hand and against the lesson's code, pictures that fit."""

import importlib.util
import itertools
import random
import sys

import pytest
from support import solutions

from course import explore
from course.core.errors import CourseError
from course.explore.models.tensor_fusion import NEGOTIATION_MS, fuse, schedule
from course.given.horovod import Answer, Request

MB_PER_S = {"gb_per_s": 2**20 / 1e6, "ranks": 2, "latency_ms": 0.0}  # 1 MiB takes 1 ms


def test_a_schedule_worked_out_by_hand():
    # Tensors are ready at 2, 4, 6 and 8 ms. The first cycle takes one, and its message lasts until
    # 5.1 ms, when the next cycle begins.
    got = schedule(4, kib=3 * 1024, threshold_mib=100, cycle_ms=1, backward_ms=8, **MB_PER_S)
    assert NEGOTIATION_MS == 0.1
    assert got.ready_ms == (2, 4, 6, 8)
    assert [m.gradients for m in got.messages] == [(0,), (1,), (2, 3)]
    assert [round(m.start_ms, 3) for m in got.messages] == [2.1, 5.2, 8.3]
    assert [round(m.end_ms, 3) for m in got.messages] == [5.1, 8.2, 14.3]
    assert [round(ms, 3) for ms in got.cycles_ms] == [2, 5.1, 8.2]
    assert got.done_ms == pytest.approx(14.3) and got.comm_ms == pytest.approx(12)
    assert got.wait_ms == pytest.approx((0.1 + 1.2 + 2.3 + 0.3) / 4)


def test_a_long_cycle_makes_tensors_wait_for_it():
    got = schedule(4, kib=1, threshold_mib=100, cycle_ms=50, backward_ms=8, **MB_PER_S)
    assert [len(m.gradients) for m in got.messages] == [1, 3] and got.messages[
        1
    ].start_ms == pytest.approx(52.1)


def test_a_cycle_that_begins_when_the_program_waits_is_never_too_long():
    slow, quick = (
        schedule(4, 1, 100, cycle_ms=50, backward_ms=8, hurry=hurry, **MB_PER_S)
        for hurry in (False, True)
    )
    assert slow.cycles_ms == (2, 52) and quick.cycles_ms == (2, 8)


def test_without_fusion_every_tensor_has_its_own_message():
    assert len(schedule(40, kib=8, threshold_mib=0, cycle_ms=5).messages) == 40


def test_a_schedule_loses_no_tensor_and_sends_none_before_it_is_ready():
    for state in itertools.product((1, 7, 400), (4, 4096), (0.01, 1, 128), (0.1, 50), (0.1, 300)):
        tensors, kib, threshold, cycle, bandwidth = state
        got = schedule(tensors, kib, threshold, cycle, gb_per_s=bandwidth)
        assert sorted(i for m in got.messages for i in m.gradients) == list(range(tensors))
        assert all(m.start_ms >= got.ready_ms[i] for m in got.messages for i in m.gradients)
        assert all(a.end_ms <= b.start_ms + 1e-9 for a, b in itertools.pairwise(got.messages))
        assert all(len(m.gradients) == 1 or m.mib <= threshold + 1e-9 for m in got.messages)


def test_the_model_fuses_as_the_lessons_code_does(tmp_path, monkeypatch):
    solutions.write("06b_horovod_engine", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    learners = _load(tmp_path, "hvd_fusion")
    for seed in range(20):
        chance = random.Random(seed)
        sizes = [chance.randrange(1, 40) for _ in range(30)]
        answers = [
            Answer((str(i), 1), (Request(str(i), "allreduce", bytes=size),))
            for i, size in enumerate(sizes)
        ]
        threshold = chance.randrange(0, 100)
        got = [
            tuple(int(answer.key[0]) for answer in batch)
            for batch in learners.fuse(answers, threshold)
        ]
        assert got == fuse([float(size) for size in sizes], threshold)


def _load(folder, name):
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "wrong", [{"tensors": 0}, {"kib": 0}, {"cycle_ms": 0}, {"threshold_mib": -1}]
)
def test_a_schedule_that_cannot_be_is_refused(wrong):
    with pytest.raises(CourseError, match="above 0"):
        schedule(**{"tensors": 1, "kib": 1, "threshold_mib": 1, "cycle_ms": 1} | wrong)


def test_titles_say_what_the_state_shows():
    assert "Nearly all of it beside" in explore.tensor_fusion().picture
    assert "The starts of 100 messages" in explore.tensor_fusion(threshold=0.01).picture
    assert "wait for the next cycle" in explore.tensor_fusion(cycle=50).picture
    assert "network is the bottleneck" in explore.tensor_fusion(bandwidth=0.1).picture
