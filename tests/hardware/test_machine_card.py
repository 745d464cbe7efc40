"""The card of a machine: white in a notebook, lines in a terminal."""

from dataclasses import replace

from support.fake_nvml import FakeNvml
from support.machines import machine

from course.drawing import palette
from course.hardware.machine_card import Card


def test_the_card_says_that_gpus_are_hidden():
    assert repr(Card(machine(FakeNvml("A", "A"), visible=""))).endswith(
        "(CUDA_VISIBLE_DEVICES hides the GPUs)."
    )


def test_one_gpu_says_why_the_ranks_are_on_the_cpu():
    assert "on the CPU with Gloo (ranks over NCCL need a GPU each, and there is one)" in repr(
        Card(machine(FakeNvml("A")))
    )


def test_card_in_a_notebook_is_white_and_escaped_and_shows_every_rank():
    page = Card(replace(machine(FakeNvml("A", "A")), cpu="CPU <b>"))._repr_html_()
    assert f"background:{palette.CARD}" in page and f"color:{palette.INK}" in page
    assert "CPU &lt;b&gt;" in page and "<b>" not in page
    assert [page.count(f'title="rank {rank}"') for rank in range(3)] == [1, 1, 0]
    assert "Here the labs use 2 ranks, one per GPU, with NCCL." in page


def test_card_tells_threads_from_cores_and_parts_from_the_whole():
    here = replace(machine(), cores=8, physical=4, all_cores=64)
    assert "Test CPU, 8 hardware threads on 4 cores of the machine's 64" in repr(Card(here))
    assert "Test CPU, 16 cores\n" in repr(Card(machine()))
