"""Lab 02: the rounds of each all-reduce, the α–β model and its fit, nodes, pictures that fit."""

import itertools
import math
import random

import numpy
import pytest
from support.pictures import assert_fits

from course import explore
from course.charts.bandwidth import bandwidth, size_text
from course.core.errors import CourseError
from course.explore.models.all_reduce import ALGORITHMS, plan
from course.explore.models.alpha_beta import AlphaBeta, bus_gb_per_s, crossover, fit
from course.explore.models.hierarchy import Cluster, ways
from course.explore.pictures.all_reduce import draw, seconds
from course.explore.pictures.hierarchy import EACH, ONE
from course.explore.pictures.hierarchy import draw as draw_levels

EVERY = list(itertools.product(ALGORITHMS, range(1, 10)))


@pytest.mark.parametrize(("name", "ranks"), EVERY)
def test_every_rank_ends_with_every_number_once(name, ranks):
    p = plan(name, ranks)
    assert all(held == frozenset(range(ranks)) for row in p.held(p.messages) for held in row)


@pytest.mark.parametrize(("name", "ranks"), EVERY)
def test_in_a_round_a_rank_sends_and_receives_at_most_one_message(name, ranks):
    for round in plan(name, ranks).rounds:
        for side in ("source", "target"):
            ends = [getattr(send, side) for send in round.sends]
            assert len(ends) == len(set(ends))


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_rounds_cost_what_the_formulas_of_the_lesson_say(ranks):
    others, log = ranks - 1, int(math.log2(ranks))
    wanted = {
        "reduce + broadcast": (2 * others, 2 * others), "all-to-all": (others, others),
        "ring": (2 * others, 2 * others / ranks), "halving-doubling": (2 * log, 2 * others / ranks),
        "tree": (2 * log, 2 * log),
    }  # fmt: skip
    for name, (messages, buffers) in wanted.items():
        p = plan(name, ranks)
        assert (p.messages, p.buffers) == (messages, pytest.approx(buffers))


@pytest.mark.parametrize("ranks", range(2, 9))
def test_each_rank_of_a_ring_sends_the_least_there_is(ranks):
    assert plan("ring", ranks).sent(2 * (ranks - 1)) == pytest.approx(
        [2 * (ranks - 1) / ranks] * ranks
    )
    assert plan("ring", ranks).everyones == pytest.approx(
        plan("reduce + broadcast", ranks).everyones
    )


def test_the_clock_runs_round_by_round():
    network = AlphaBeta.of(latency_us=10, gb_per_s=1)
    assert plan("ring", 4).clock(network, 4e6) == pytest.approx([k * 1.01e-3 for k in range(7)])
    assert plan("ring", 4).seconds(network, 4e6) == pytest.approx(6.06e-3)


@pytest.mark.parametrize(
    ("name", "ranks", "says"), [("star", 4, "no all-reduce called 'star'"), ("ring", 0, "not 0")]
)
def test_a_plan_that_cannot_be_is_refused(name, ranks, says):
    with pytest.raises(CourseError, match=says):
        plan(name, ranks)


def test_a_fit_finds_the_numbers_that_made_the_times():
    points = [(a, b, a * 3e-5 + b * 2e-10) for a, b in ((1, 1e3), (6, 1e5), (2, 1e7), (4, 3e8))]
    found = fit(points)
    assert (found.latency_us, found.gb_per_s) == (pytest.approx(30), pytest.approx(5))


def test_a_fit_is_that_of_numpy_on_relative_errors():
    noise = random.Random(0)
    points = [
        (6, 1.5 * 4**k, (6 * 2e-5 + 1.5 * 4**k * 1e-9) * noise.uniform(0.7, 1.4))
        for k in range(4, 14)
    ]
    rows = numpy.array([(a / t, b / t) for a, b, t in points])
    wanted, *_ = numpy.linalg.lstsq(rows, numpy.ones(len(points)))
    found = fit(points)
    assert (found.alpha, found.beta) == pytest.approx(tuple(wanted))


def test_a_fit_is_never_negative():
    assert fit([(1, 1e3, 1e-6), (1, 1e6, 1.1e-3)]).alpha == 0
    assert fit([(1, 1e3, 1e-3), (1, 1e6, 0.9e-3)]).beta == 0
    assert fit([(1, 1e3, 1e-3), (1, 1e6, 0.9e-3)]).gb_per_s == math.inf


@pytest.mark.parametrize(
    ("points", "says"),
    [
        ([], "two different sizes"),
        ([(1, 8, 1.0)] * 3, "two different sizes"),
        ([(1, 8, 0.0), (1, 9, 1.0)], "above 0"),
    ],
)
def test_a_fit_without_measurements_is_refused(points, says):
    with pytest.raises(CourseError, match=says):
        fit(points)


def test_the_crossover_of_tree_and_ring():
    network = AlphaBeta.of(20, 10)

    def ring(size):
        return plan("ring", 8).seconds(network, size)

    size = crossover(lambda size: plan("tree", 8).seconds(network, size), ring)
    # 6 α + 6 βS = 14 α + 1.75 βS
    assert size == pytest.approx(8 * network.alpha / (4.25 * network.beta))
    assert crossover(ring, ring) is None and crossover(ring, lambda size: 1e9) is None


def test_bus_bandwidth_of_a_perfect_ring_is_that_of_its_links():
    network = AlphaBeta.of(0, 12.5)
    for ranks in (2, 5, 64):
        assert bus_gb_per_s(1e9, plan("ring", ranks).seconds(network, 1e9), ranks) == pytest.approx(
            12.5
        )


def test_a_network_that_cannot_be_is_refused():
    with pytest.raises(CourseError, match="above 0 GB/s"):
        AlphaBeta.of(1, 0)


INSIDE, NETWORK = AlphaBeta.of(5, 200), AlphaBeta.of(20, 25)


def test_two_levels_worked_out_by_hand():
    *_, levels = ways(Cluster(nodes=4, gpus=8, inside=INSIDE, network=NETWORK), 8e6)
    inside = 7 * 5e-6 + 7e6 / 200e9
    between = 6 * 20e-6 + 6 / 4 * 8e6 / 25e9  # one NIC carries all eight pieces
    assert [phase.seconds for phase in levels.phases] == pytest.approx([inside, between, inside])
    assert levels.out_of_node == pytest.approx(12e6)
    *_, spread = ways(Cluster(4, 8, INSIDE, NETWORK, nics=8), 8e6)
    assert spread.phases[1].seconds == pytest.approx(6 * 20e-6 + 6 / 4 * 1e6 / 25e9)


def test_a_ring_dealt_out_sends_everything_through_the_network():
    dealt, ordered, _ = ways(Cluster(4, 8, INSIDE, NETWORK), 8e6)
    assert dealt.out_of_node == pytest.approx(8 * ordered.out_of_node)
    assert dealt.seconds > ordered.seconds
    ring = plan("ring", 32)
    assert ordered.seconds == pytest.approx(ring.seconds(NETWORK, 8e6))


@pytest.mark.parametrize(("nodes", "gpus", "link"), [(1, 8, INSIDE), (8, 1, NETWORK)])
def test_with_one_level_all_ways_are_one_ring(nodes, gpus, link):
    wanted = plan("ring", 8).seconds(link, 1e6)
    assert [
        way.seconds for way in ways(Cluster(nodes, gpus, INSIDE, NETWORK), 1e6)
    ] == pytest.approx([wanted] * 3)


def test_a_cluster_without_nodes_is_refused():
    with pytest.raises(CourseError, match="at least one node"):
        Cluster(0, 8, INSIDE, NETWORK)


STATES = [
    (left, right, ranks, size, latency, gb, step)
    for left, right in itertools.combinations_with_replacement(ALGORITHMS, 2)
    for ranks in (2, 3, 8)
    for (size, latency, gb), step in (
        (((0.001, 1000, 400)), 0),
        ((1000, 1, 0.1), 2),
        ((1, 20, 10), 14),
    )
]


@pytest.mark.parametrize("state", STATES[::4], ids=str)
def test_every_state_of_two_all_reduces_fits_its_card(state):
    picture = draw(*state)
    assert_fits(picture)
    assert "nan" not in picture and "e+" not in picture


def test_stepping_goes_to_the_end_of_the_longer_one_and_back():
    two = explore.all_reduces(left="all-to-all", right="ring", ranks=8, step=14)
    assert (
        two.values["step"] == 14
        and "8 of 8 sums complete" in two.picture
        and "64 of 64" in two.picture
    )
    assert two.at(right="tree").values["step"] == 7  # the longer one has seven rounds now
    assert "0 of 8 sums complete" in two.at(step=0).picture


@pytest.mark.parametrize(
    "state",
    [
        *itertools.product(
            (1, 2, 64), (1, 8), (0.01, 1000), (1, 900), (0.1, 100), (1, 1000), (ONE, EACH)
        )
    ][::3],
    ids=str,
)
def test_every_state_of_two_levels_fits_its_card(state):
    picture = draw_levels(*state)
    assert_fits(picture)
    assert "nan" not in picture and "inf" not in picture


def test_a_bandwidth_plot_fits_and_names_its_lines():
    lines = {
        name: [(4.0**k * 1024, 10.0 ** (i - k / 4)) for k in range(9)]
        for i, name in enumerate(ALGORITHMS)
    }
    picture = bandwidth(lines, {"ring": lines["ring"]})
    assert_fits(picture)
    assert all(f">{name}<" in picture for name in ALGORITHMS) and "dashed" in picture
    assert_fits(bandwidth({"one": [(1024.0, 1.0)]}))


@pytest.mark.parametrize("lines", [{}, {"ring": []}, {"ring": [(1024, 0.0)]}])
def test_a_bandwidth_plot_of_nothing_is_refused(lines):
    with pytest.raises(CourseError, match="above 0"):
        bandwidth(lines)


@pytest.mark.parametrize(
    ("value", "shown"), [(2e-7, "0.2 µs"), (2.7e-4, "270 µs"), (0.0123, "12.3 ms"), (4, "4 s")]
)
def test_times_for_readers(value, shown):
    assert seconds(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(512, "512 B"), (1024, "1 KiB"), (2**26, "64 MiB"), (2**31, "2 GiB")]
)
def test_sizes_for_readers(value, shown):
    assert size_text(value) == shown
