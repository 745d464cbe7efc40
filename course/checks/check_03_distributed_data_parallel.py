"""Checks of lab 03: a script made distributed, and DistributedDataParallel written by hand."""

import importlib
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from course.checks.exercises import hint
from course.checks.training import (
    OPTIMIZERS,
    Messages,
    Small,
    batch,
    furthest,
    loss_of,
    train_alone,
    train_replica,
    weights,
)

CLOSE = 1e-5  # float32, different orders of summation


# -- what runs on the ranks --------------------------------------------------------------------------------------------


def _wrapper(module: str, name: str) -> Callable:
    return getattr(importlib.import_module(module), name)


def _start(module: str, name: str) -> list[torch.Tensor]:
    """The weights on this rank after construction, from different weights on every rank."""
    return weights(_wrapper(module, name)(Small(seed=10 + dist.get_rank())))


def _averages(module: str, name: str) -> float:
    """How far this rank's gradients are from the average over the ranks, which torch's own collectives compute."""
    replica = _wrapper(module, name)(Small(seed=0))
    loss_of(replica, batch(0, dist.get_rank())).backward()
    expected = [parameter.grad.clone() for parameter in replica.parameters()]
    for gradient in expected:
        dist.all_reduce(gradient)
        gradient /= dist.get_world_size()
    replica = _wrapper(module, name)(Small(seed=0))
    loss_of(replica, batch(0, dist.get_rank())).backward()
    replica.finish()
    return furthest([parameter.grad for parameter in replica.parameters()], expected)


def _train(module: str, name: str, kinds: tuple[str, ...], optimizers: tuple[str, ...], passes: int = 1) -> dict:
    """The weights on this rank after three steps, for each kind of model and optimizer."""
    wrapper = _wrapper(module, name)
    return {
        (kind, optimizer): train_replica(wrapper, kind, optimizer, steps=3, passes=passes)
        for kind in kinds
        for optimizer in optimizers
    }


def _heads(step: int) -> tuple[int, ...]:
    """The heads that this rank uses: rank 1 leaves one out, then all do, then each uses them in its own order."""
    rank = dist.get_rank()
    return [(0,) if rank == 1 else (0, 1), (0,), (0, 1) if rank == 0 else (1, 0)][step]


def _unused(module: str, name: str) -> tuple[float, bool]:
    """How far the weights are from torch's DDP when heads stay unused; whether a head unused by all kept no gradient."""
    mine = _wrapper(module, name)(Small(seed=0))
    theirs = DistributedDataParallel(Small(seed=0), find_unused_parameters=True)
    untouched = True
    updates = [torch.optim.SGD(model.parameters(), lr=0.1) for model in (mine, theirs)]
    for step in range(3):
        for model, update in zip((mine, theirs), updates, strict=True):
            update.zero_grad()
            loss_of(model, batch(step, dist.get_rank()), heads=_heads(step)).backward()
            if model is mine:
                mine.finish()
                untouched &= step != 1 or mine.module.heads[1].weight.grad is None
            update.step()
    return furthest(weights(mine), weights(theirs)), untouched


def _uneven(module: str, name: str) -> float:
    """How far the weights are from torch's DDP when the ranks' batches differ in size."""
    models = _wrapper(module, name)(Small(seed=0)), DistributedDataParallel(Small(seed=0))
    for model in models:
        update = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(2):
            update.zero_grad()
            loss_of(model, batch(step, dist.get_rank(), size=2 + 3 * dist.get_rank())).backward()
            if model is models[0]:
                model.finish()
            update.step()
    return furthest(weights(models[0]), weights(models[1]))


def _messages(module: str, name: str, quiet: bool = False, **options: float) -> list[tuple[str, int, bool]]:
    """What one backward and `finish()` send, within `no_sync` if `quiet`."""
    replica = _wrapper(module, name)(Small(seed=0), **options)
    with Messages() as messages:
        if quiet:
            with replica.no_sync():
                loss_of(replica, batch(0, dist.get_rank())).backward()
                replica.finish()
        else:
            loss_of(replica, batch(0, dist.get_rank())).backward()
            replica.finish()
    return list(messages)


def _without_library(module: str, name: str) -> float:
    """One step with torch's DDP made unusable."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it hands the work to torch's DistributedDataParallel, which is what it should replace")

    DistributedDataParallel.__init__ = refuse
    return _averages(module, name)


def _sent_early(module: str, name: str) -> tuple[int, bool]:
    """How many messages had begun when the first layer got its gradient, and whether all were started without waiting."""
    replica = _wrapper(module, name)(Small(seed=0), **({"cap_mb": 1e-4} if name == "Bucketed" else {}))
    begun = []
    with Messages() as messages:
        first = replica.module.layers[0].weight
        first.register_hook(lambda gradient: begun.append(len(messages)))
        loss_of(replica, batch(0, dist.get_rank())).backward()
        in_backward = list(messages)
        replica.finish()
    return begun[0], all(asynchronous for _, _, asynchronous in in_backward)


def _buckets(cap_mb: float) -> tuple[list[list[int]], list[int], int]:
    """The buckets as positions in `parameters()`, the sizes in bytes, the number of parameters that are trained."""
    model = Small(seed=0, kind="frozen")
    place = {parameter: i for i, parameter in enumerate(model.parameters())}
    replica = _wrapper("my_buckets", "Bucketed")(model, cap_mb=cap_mb)
    sizes = [parameter.numel() * parameter.element_size() for parameter in model.parameters()]
    return [[place[parameter] for parameter in bucket] for bucket in replica.buckets], sizes, len(replica.trained)


# -- what is asserted --------------------------------------------------------------------------------------------------


class _AnyReplica:
    """What holds for every replica, whenever it communicates."""

    exercise: str
    wrappers: tuple[str, ...]

    def each(self, ranks: Callable, world_size: int, function: Callable, *args: object, **kwargs: object):
        """(name of the class, results by rank) for each class of the exercise."""
        for name in self.wrappers:
            yield name, ranks(world_size, function, self.exercise, name, *args, **kwargs)

    def compare_training(self, ranks: Callable, world_size: int, kinds, optimizers, passes: int = 1) -> None:
        """Three steps on the ranks give the weights of three steps of one process on the whole batch."""
        for name, by_rank in self.each(ranks, world_size, _train, kinds, optimizers, passes):
            for rank, trained in enumerate(by_rank):
                for (kind, optimizer), got in trained.items():
                    wanted = train_alone(kind, optimizer, 3, world_size, passes)
                    assert furthest(got, wanted) < CLOSE, (
                        f"{name}, {world_size} ranks, {optimizer}, {kind} model: after 3 steps rank {rank}'s weights "
                        f"are off by {furthest(got, wanted):.2g}"
                    )

    @hint("average means the sum over the ranks divided by how many there are")
    def test_average(self, ranks):
        """After finish(), every gradient is the average over the ranks (2 and 3 ranks)."""
        for world_size in (2, 3):
            for name, off in self.each(ranks, world_size, _averages):
                assert max(off) < CLOSE, f"{name}, {world_size} ranks: a gradient is off by {max(off):.2g}"

    @hint("compare your gradients of the second step: does anything survive from the first?")
    def test_same_as_one_process(self, ranks):
        """Training gives the weights of one process on the whole batch, for SGD, momentum and AdamW."""
        self.compare_training(ranks, 2, ("plain",), tuple(OPTIMIZERS))

    @hint("a frozen parameter has no gradient at all; a tied one has a single gradient for both its uses")
    def test_tied_and_frozen(self, ranks):
        """Tied parameters are averaged once, frozen ones are left alone."""
        self.compare_training(ranks, 2, ("tied", "frozen"), ("SGD",))

    @hint("`pack` marks which gradients there are and `unpack` reads the marks: let both see every parameter")
    def test_unused(self, ranks):
        """A parameter unused on one rank counts as zero there; unused on all, it keeps no gradient."""
        for name, results in self.each(ranks, 2, _unused):
            off = max(off for off, _ in results)
            assert off < CLOSE, f"{name}: with unused parameters the weights differ from torch's DDP by {off:.2g}"
            assert all(kept for _, kept in results), f"{name}: a parameter that no rank used has got a gradient"

    @hint("the mean of the ranks' means is what DDP computes too, even where their batches differ in size")
    def test_uneven_batches(self, ranks):
        """With batches of different sizes the result is torch's DDP's."""
        for name, off in self.each(ranks, 2, _uneven):
            assert max(off) < CLOSE, f"{name}: the weights differ from torch's DDP by {max(off):.2g}"

    @hint("gradients add up by themselves; only the last backward of the group may communicate")
    def test_accumulation(self, ranks):
        """Within no_sync() nothing is sent, and gradients of three passes add up to one update."""
        for name, sent in self.each(ranks, 2, _messages, quiet=True):
            assert not sent[0], f"{name}: {len(sent[0])} messages within no_sync()"
        self.compare_training(ranks, 2, ("plain",), ("SGD",), passes=3)

    @hint("a world of one is a world")
    def test_one_rank(self, ranks):
        """It works on one rank too."""
        self.compare_training(ranks, 1, ("plain",), ("SGD",))

    @hint("write the communication yourself")
    def test_own_work(self, ranks):
        """It does not hand the work to torch's own DistributedDataParallel."""
        for name, off in self.each(ranks, 2, _without_library):
            assert max(off) < CLOSE, f"{name}: a gradient is off by {max(off):.2g}"


class TestMyDdp(_AnyReplica):
    """Exercise 2: communication after backward."""

    exercise = "my_ddp"
    wrappers = ("AfterBackward", "Flat")

    @hint("parameters are not all that a model holds: look at `buffers()`")
    def test_same_start(self, ranks):
        """After construction every rank has rank 0's parameters and buffers."""
        for name, by_rank in self.each(ranks, 3, _start):
            for rank, got in enumerate(by_rank):
                off = furthest(got, weights(Small(seed=10)))
                assert off == 0, f"{name}: rank {rank} starts with weights that differ from rank 0's by {off:.2g}"

    @hint("how many messages does AfterBackward send for ten parameters, and Flat?")
    def test_messages(self, ranks):
        """AfterBackward sends one message a parameter, Flat sends one in all."""
        parameters = len(list(Small(seed=0).parameters()))
        for name, sent in self.each(ranks, 2, _messages):
            wanted = 1 if name == "Flat" else parameters
            assert len(sent[0]) == wanted, f"{name}: {len(sent[0])} messages for {parameters} parameters"


class TestMyBuckets(_AnyReplica):
    """Exercise 3: communication during backward."""

    exercise = "my_buckets"
    wrappers = ("Overlapped", "Bucketed")

    @hint("which gradient is ready first, and who tells you?")
    def test_starts_during_backward(self, ranks):
        """Messages begin before the first layer has its gradient, and backward waits for none."""
        for name, results in self.each(ranks, 2, _sent_early):
            for begun, asynchronous in results:
                assert begun > 0, f"{name}: nothing is sent before backward reaches the first layer"
                assert asynchronous, f"{name}: backward waits for a message instead of going on"

    @hint("count the buckets, then the messages")
    def test_messages(self, ranks):
        """One message a bucket: as many as parameters in Overlapped, one in Bucketed with a large cap."""
        parameters = len(list(Small(seed=0).parameters()))
        for name, sent in self.each(ranks, 2, _messages):
            wanted = 1 if name == "Bucketed" else parameters
            assert len(sent[0]) == wanted, f"{name}: {len(sent[0])} messages for {parameters} parameters"

    @hint("walk through the parameters backwards; a bucket is closed when the next parameter would not fit")
    def test_assign(self, ranks):
        """Buckets hold every trained parameter once, last layer first, within the cap unless one alone exceeds it."""
        for cap in (48, 170, 10_000):
            buckets, sizes, trained = ranks(1, _buckets, cap / 2**20)[0]
            order = [i for bucket in buckets for i in bucket]
            assert order == sorted(order, reverse=True), f"cap of {cap} B: the order of sending is {order}"
            assert len(order) == trained, f"cap of {cap} B: {len(order)} places for {trained} trained parameters"
            for bucket, following in zip(buckets, [*buckets[1:], None], strict=True):
                held = sum(sizes[i] for i in bucket)
                assert held <= cap or len(bucket) == 1, f"cap of {cap} B: a bucket holds {held} B"
                if following:
                    assert held + sizes[following[0]] > cap, f"cap of {cap} B: a bucket of {held} B had room for the next"
