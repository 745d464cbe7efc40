"""All-reduce across nodes: each way worked out by hand, pictures that fit."""

import pytest

from course import explore
from course.core.errors import CourseError
from course.explore.models.all_reduce import plan
from course.explore.models.alpha_beta import AlphaBeta
from course.explore.models.hierarchy import Topology, ways

INSIDE, NETWORK = AlphaBeta.of(5, 200), AlphaBeta.of(20, 25)


def test_two_levels_worked_out_by_hand():
    *_, levels = ways(Topology(nodes=4, gpus=8, inside=INSIDE, network=NETWORK), 8e6)
    inside = 7 * 5e-6 + 7e6 / 200e9
    between = 6 * 20e-6 + 6 / 4 * 8e6 / 25e9  # one NIC carries all eight pieces
    assert [phase.seconds for phase in levels.phases] == pytest.approx([inside, between, inside])
    assert levels.out_of_node == pytest.approx(12e6)
    *_, spread = ways(Topology(4, 8, INSIDE, NETWORK, nics=8), 8e6)
    assert spread.phases[1].seconds == pytest.approx(6 * 20e-6 + 6 / 4 * 1e6 / 25e9)


def test_a_ring_dealt_out_sends_everything_through_the_network():
    dealt, ordered, _ = ways(Topology(4, 8, INSIDE, NETWORK), 8e6)
    assert dealt.out_of_node == pytest.approx(8 * ordered.out_of_node)
    assert dealt.seconds > ordered.seconds
    ring = plan("ring", 32)
    assert ordered.seconds == pytest.approx(ring.seconds(NETWORK, 8e6))


@pytest.mark.parametrize(("nodes", "gpus", "link"), [(1, 8, INSIDE), (8, 1, NETWORK)])
def test_with_one_level_all_ways_are_one_ring(nodes, gpus, link):
    expected = plan("ring", 8).seconds(link, 1e6)
    assert [
        way.seconds for way in ways(Topology(nodes, gpus, INSIDE, NETWORK), 1e6)
    ] == pytest.approx([expected] * 3)


def test_a_cluster_without_nodes_is_refused():
    with pytest.raises(CourseError, match="at least one node"):
        Topology(0, 8, INSIDE, NETWORK)


@pytest.mark.parametrize(("nodes", "gpus"), [(1, 1), (8, 8), (64, 3)])
def test_nodes_are_drawn_with_their_gpus_and_what_does_not_fit_is_counted(nodes, gpus):
    picture = explore.hierarchy(nodes=nodes, gpus=gpus).picture
    shown = min(nodes, 8)
    assert picture.count("<circle") == shown * gpus
    assert ("… 56 more" in picture) == (nodes == 64)
