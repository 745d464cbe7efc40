"""The scaling model: what must be true of any cluster, and its picture."""

import pytest

from course import explore
from course.core.errors import CourseError
from course.explore.models.alpha_beta import AlphaBeta
from course.explore.models.scaling import (
    BACKWARD,
    INSIDE,
    NETWORKS,
    WORKLOADS,
    Fleet,
    Workload,
    efficiency,
    fit,
    step,
)
from course.explore.pictures.scaling import draw

WORK = WORKLOADS["ResNet-50"]


FLEET = Fleet(8, INSIDE["NVLink"], NETWORKS["100 Gbit/s"])


FREE = Fleet(8, AlphaBeta(0, 0), AlphaBeta(0, 0))


def test_one_gpu_and_free_links_are_perfect():
    assert efficiency(WORK, FLEET, 1, 64, 0.5) == 1
    for gpus in (2, 8, 100, 1024):
        assert efficiency(WORK, FREE, gpus, 64, 0.0) == pytest.approx(1)


def test_strong_scaling_loses_the_fixed_part_of_a_step():
    work = Workload(fixed=1.0, per_sample=1.0, size=0)
    # 4 samples on one GPU take 5 s; one on each of 4 GPUs takes 2 s: 2.5 times as fast.
    assert efficiency(work, FREE, 4, 4, 0.0, strong=True) == pytest.approx(2.5 / 4)


@pytest.mark.parametrize("name", WORKLOADS)
def test_efficiency_falls_with_gpus_and_rises_with_the_batch_and_what_may_hide(name):
    work = WORKLOADS[name]
    by_gpus = [efficiency(work, FLEET, 2**i, 32, 0.5) for i in range(11)]
    by_batch = [efficiency(work, FLEET, 64, 2**i, 0.5) for i in range(9)]
    by_hidden = [efficiency(work, FLEET, 64, 32, i / 10) for i in range(11)]
    assert by_gpus == sorted(by_gpus, reverse=True)
    assert by_batch == sorted(by_batch)
    assert by_hidden == sorted(by_hidden)


def test_what_hides_is_never_longer_than_the_backward_pass():
    slow = Fleet(1, AlphaBeta(0, 1e-9), AlphaBeta(0, 1e-7))
    slowed = step(WORK, slow, 16, 1, hidden=1.0)
    assert slowed.comm > slowed.compute
    assert slowed.exposed == pytest.approx(slowed.comm - BACKWARD * slowed.compute)


def test_the_links_between_nodes_matter_from_the_second_node_on():
    slow = Fleet(8, INSIDE["NVLink"], NETWORKS["1 Gbit/s"])
    assert efficiency(WORK, slow, 8, 64, 0.5) == efficiency(WORK, FLEET, 8, 64, 0.5)
    assert efficiency(WORK, slow, 16, 64, 0.5) < 0.1 < efficiency(WORK, FLEET, 16, 64, 0.5)


def test_a_fitted_workload_gives_back_the_times_it_was_made_of():
    points = [(batch, WORK.compute(batch)) for batch in (8, 16, 64)]
    fitted = fit(points, WORK.size)
    assert (fitted.fixed, fitted.per_sample) == (
        pytest.approx(WORK.fixed),
        pytest.approx(WORK.per_sample),
    )


@pytest.mark.parametrize("wrong", [{"gpus": 0}, {"batch": 0}, {"hidden": 1.5}])
def test_impossible_values_are_refused_in_one_sentence(wrong):
    values = {"gpus": 2, "batch": 8, "hidden": 0.5} | wrong
    with pytest.raises(CourseError, match=r"^A step needs at least one GPU, .*\.$"):
        step(WORK, FLEET, **values)


def test_the_picture_says_what_the_model_says_and_shows_the_learners_points():
    state = {
        "work": "ResNet-50",
        "gpus": 16,
        "batch": 64,
        "per_node": 8,
        "inside": "NVLink",
        "network": "100 Gbit/s",
        "hidden": 80,
        "strong": False,
    }
    efficient = efficiency(WORK, FLEET, 16, 64, 0.8)
    assert f"{100 * efficient:.0f} % efficient" in draw(**state)
    assert (
        draw(**state, points=[(1, 1.0), (2, 0.8)]).count("<circle")
        == draw(**state).count("<circle") + 3
    )
    assert "128 GPUs train 39.7 times as fast: 31 % efficient" in explore.scaling().picture
    assert explore.scaling(gpus=256).values["gpus"] == 256
