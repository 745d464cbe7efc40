"""DDP's buckets: the model against torch's own bucketing, pictures that fit."""

import itertools
import random
import re

import pytest
import torch
import torch.distributed as dist

from course import explore
from course.core.errors import CourseError
from course.core.words import MIB
from course.explore.models.backward import all_reduce_ms
from course.explore.models.buckets import (
    DEFAULT_FIRST_MIB,
    MODELS,
    Layer,
    assign,
    best_cap,
    by_cap,
    schedule,
)

FOUR = tuple(Layer(f"layer {i}", 10.0, 5.0) for i in range(4))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("cap", [None, 0.25, 2.0, 25.0])
def test_gradients_go_into_the_buckets_that_torch_would_choose(seed, cap):
    tensors = [
        torch.empty(random.Random(seed * 100 + i).randrange(1, 3_000_000)) for i in range(40)
    ]
    limits = [dist._DEFAULT_FIRST_BUCKET_BYTES, 25 * MIB] if cap is None else [int(cap * MIB)]
    torchs, _ = dist._compute_bucket_assignment_by_size(tensors, limits)
    assert assign([tensor.numel() * 4 / MIB for tensor in tensors], cap) == [
        tuple(bucket) for bucket in torchs
    ]
    assert dist._DEFAULT_FIRST_BUCKET_BYTES == DEFAULT_FIRST_MIB * MIB


def test_an_all_reduce_costs_its_latency_and_two_n_minus_one_nths_of_the_bytes():
    assert all_reduce_ms(1e9 / MIB, ranks=4, gb_per_s=1.0) == pytest.approx(1500)
    assert all_reduce_ms(0, ranks=4, gb_per_s=1.0, latency_ms=0.3) == 0.3
    assert all_reduce_ms(100, ranks=1, gb_per_s=1.0, latency_ms=0.3) == 0


def test_a_schedule_worked_out_by_hand():
    # 10 MiB on 2 ranks at 1 MiB/ms take 10 ms; gradients are ready at 5, 10, 15 and 20 ms.
    plan = schedule(FOUR, cap_mib=10, gb_per_s=MIB / 1e6, ranks=2)
    assert plan.ready_ms == (5, 10, 15, 20)
    assert [(b.start_ms, b.end_ms) for b in plan.messages] == [
        (5, 15),
        (15, 25),
        (25, 35),
        (35, 45),
    ]
    assert (plan.compute_ms, plan.done_ms, plan.exposed_ms, plan.comm_ms) == (20, 45, 25, 40)
    assert plan.overlap == pytest.approx(15 / 40)
    assert plan.layers[0].name == "layer 3"  # backward begins at the end of the model


def test_without_overlap_the_first_all_reduce_waits_for_the_last_gradient():
    plan = schedule(FOUR, cap_mib=10, gb_per_s=MIB / 1e6, ranks=2, overlap=False)
    assert (plan.messages[0].start_ms, plan.done_ms, plan.overlap) == (20, 60, 0)


@pytest.mark.parametrize("name", MODELS)
def test_a_schedule_keeps_the_order_loses_no_layer_and_never_sends_early(name):
    for cap, bandwidth, overlap in itertools.product(
        (None, 0.5, 25, 1024), (0.1, 300), (True, False)
    ):
        plan = schedule(MODELS[name], cap, bandwidth, ranks=8, latency_ms=0.1, overlap=overlap)
        assert [i for bucket in plan.messages for i in bucket.gradients] == list(
            range(len(MODELS[name]))
        )
        assert all(
            bucket.start_ms >= plan.ready_ms[bucket.gradients[-1]] for bucket in plan.messages
        )
        assert all(a.end_ms <= b.start_ms for a, b in itertools.pairwise(plan.messages))
        assert plan.done_ms <= plan.compute_ms + plan.comm_ms + 1e-9  # overlap never hurts


def test_the_models_have_the_sizes_of_the_real_ones():
    mib = {name: sum(layer.mib for layer in layers) for name, layers in MODELS.items()}
    millions = {"BERT-base": 109.5, "ResNet-50": 25.6, "VGG-16": 138.4}
    assert {name: mib[name] * MIB / 4e6 for name in mib} == pytest.approx(millions, rel=0.01)


def test_the_best_cap_is_neither_the_smallest_nor_the_largest_where_messages_cost():
    curve = by_cap(MODELS["BERT-base"], gb_per_s=12.5, ranks=4, latency_ms=2)
    cap, ms = best_cap(curve, curve[0])
    assert 1 < cap < 500 and ms < 0.8 * min(curve[0][1], curve[-1][1])
    assert best_cap(curve, (33.0, ms)) == (33.0, ms)  # stay where it is as good


@pytest.mark.parametrize("wrong", [{"ranks": 0}, {"gb_per_s": 0}, {"cap_mib": -1}])
def test_a_network_that_cannot_be_is_refused(wrong):
    with pytest.raises(CourseError, match="above 0"):
        schedule(FOUR, **wrong)


def test_titles_say_what_the_state_shows():
    assert "Without overlap" in explore.buckets(overlap=False).picture
    assert "Too few buckets" in explore.buckets(cap=1024).picture
    assert "Too many buckets" in explore.buckets(cap=0.5, latency=2).picture
    assert "Communication hidden" in explore.buckets(layers="VGG-16", bandwidth=25).picture
    assert "nobody to talk to" in explore.buckets(ranks=1).picture


def test_in_the_first_state_too_many_buckets_cost_and_too_few_cost_more():
    first = explore.buckets().values
    network = {"gb_per_s": first["bandwidth"], "ranks": first["ranks"]}
    curve = by_cap(MODELS[first["layers"]], latency_ms=first["latency"], **network)
    best = min(ms for _, ms in curve)
    assert curve[0][1] > 1.05 * best and curve[-1][1] > 1.5 * best


@pytest.mark.parametrize("bandwidth", [12.5, 50, 300])
def test_every_all_reduce_has_its_number_however_short_it_is(bandwidth):
    picture = str(explore.buckets(bandwidth=bandwidth).picture)
    for number in range(1, 12):  # the last two are too close to each other
        on_both_lanes = re.findall(rf">{number}</text>", picture)
        assert len(on_both_lanes) >= 2, number
