"""The model of copies of a sharded model by hand: bytes held, and bytes that leave a machine."""

import pytest

from course import explore
from course.core.errors import CourseError
from course.explore.models.copies import Layout
from course.given.hybrid import sent
from course.given.sent import Collective


def test_one_copy_is_fsdp_and_a_copy_on_each_gpu_is_ddp():
    fsdp, ddp = Layout(2, 2, sharing=4), Layout(2, 2, sharing=1)
    assert (fsdp.held, fsdp.out) == (4, 3 * 4 * 3 / 4)
    assert (ddp.held, ddp.out) == (16, 2 * 4 * 3 / 4)


def test_a_copy_in_each_machine_sends_only_averages_out():
    layout = Layout(8, 8, sharing=8)
    assert (layout.held, layout.gathers_out, layout.averages_out) == (2, 0, 7)


def test_one_machine_sends_nothing_out():
    assert {Layout(1, 8, sharing=sharing).out for sharing in (1, 2, 4, 8)} == {0}


@pytest.mark.parametrize("sharing", [1, 2, 4, 8, 16])
def test_it_counts_what_the_rings_of_a_step_send(sharing):
    machines, gpus, number = 4, 4, 4 * 16  # bytes of 16 parameters
    layout, out = Layout(machines, gpus, sharing), 0.0
    for rank in range(gpus):  # of the first machine
        row = tuple(range(rank // sharing * sharing, (rank // sharing + 1) * sharing))
        column = tuple(range(rank % sharing, machines * gpus, sharing))
        step = [
            *(Collective(name, 16, number, row) for name in ("gather", "gather", "scatter")),
            Collective("allreduce", 16 // sharing, number // sharing, column),
        ]
        out += sent(step, rank, per_machine=gpus)[1]
    assert out / 16 == pytest.approx(layout.out)


@pytest.mark.parametrize("wrong", [(2, 2, 3), (0, 2, 1), (2, 2, 0), (2, 3, 2)])
def test_a_layout_that_cannot_be_is_refused(wrong):
    with pytest.raises(CourseError):
        Layout(*wrong)


def test_titles_say_what_the_state_shows():
    assert "gathers go through the network" in explore.copies().picture
    assert "no gather leaves" in explore.copies(sharing=8).picture
    assert "gathers and averages cross" in explore.copies(sharing=16).picture
    assert "plain data parallelism" in explore.copies(sharing=1).picture
    assert "nothing leaves it" in explore.copies(machines=1).picture
