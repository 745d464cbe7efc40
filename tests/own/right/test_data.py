"""The rules on samples, epochs, workers and files, on made-up reports."""

from dataclasses import replace

from own.right import made
from own.right.made import named

from course.own.numbers.record import Rank, Worker


def with_epochs(*epochs: list[int], **more: object) -> list[Rank]:
    """Two ranks whose samplers are in these epochs."""
    ranks = made.ranks()
    for rank, mine in zip(ranks, epochs, strict=True):
        rank.iterations = [made.iteration(rank.rank, **{"epoch": each} | more) for each in mine]
    return ranks


def test_epochs_have_orders_of_their_own_alike_on_all_ranks() -> None:
    assert named(with_epochs([0, 1], [0, 1])) == []
    assert named(with_epochs([0, 0], [0, 0])) == [("order of epochs", None)]
    assert named(with_epochs([0, 0], [0, 0], shuffles=False)) == []
    assert named(with_epochs([0, 2], [1, 3])) == [("order of epochs", None)]
    assert named(with_epochs([0, 0], [0, 0], batches=0)) == []  # an evaluation


def test_each_sample_comes_once_in_an_epoch() -> None:
    assert named(with_epochs([0], [0], replicas=4)) == [("part of the data", None)]
    assert named(with_epochs([0], [0], twice=True)) == [("part of the data", None)]
    plain = {"kind": "RandomSampler", "replicas": None, "epoch": None, "seed": None}
    ranks = with_epochs([0], [0])
    for rank in ranks:
        rows = [list(range(at, at + 8)) for at in range(rank.rank * 10, 40, 8)]
        rank.iterations = [replace(rank.iterations[0], rows=rows, **plain)]
    assert named(ranks) == [("repeated data", None)]
    for rank in ranks:
        rank.iterations[0].replaces = True
    assert named(ranks) == []


def test_workers_that_all_give_the_whole_stream() -> None:
    twice = [[1, 2], [1, 2], [3, 4], [3, 4]]
    plain = {"kind": "", "replicas": None, "epoch": None, "stream": True, "workers": 2}
    assert named(with_epochs([0], [0], **plain, rows=twice)) == [("repeated data", None)]
    assert named(with_epochs([0], [0], **plain, rows=[[1], [2], [3], [4]])) == []


def test_workers_of_two_ranks_that_draw_the_same() -> None:
    ranks = with_epochs([0], [0], workers=1)
    for rank in ranks:
        rank.workers = [Worker(rank.rank, 0, "numpy", 99)]
    assert named(ranks) == [("same data", None)]
    ranks[1].workers[0].state = 98
    assert named(ranks) == []
    for rank in ranks:  # accelerate seeds them so by itself
        rank.workers[0].state, rank.iterations[0].library = 99, "accelerate"
    assert named(ranks) == []


def test_files_of_several_ranks() -> None:
    ranks = made.ranks()
    for each in ranks:
        each.written = [made.written("/runs/model.pt")]
    assert named(ranks) == [("same file", None)]
    ranks[1].host = "another"
    assert named(ranks) == []
