"""Checks of lab 07: four strategies behind one interface, three synchronous and one not."""

import tempfile

import torch

from course.checks.engine.catalogue import hint
from course.checks.engine.reference import OPTIMIZERS, furthest
from course.checks.lab_07 import on_rank as on_rank

CLOSE = 1e-5  # float32, different orders of summation


class _InSync:
    """What holds for every synchronous strategy."""

    exercise: str
    made_of_ranks = False

    def on(self, ranks, replicas, function, *args):
        """What `function` brings back of a strategy of so many replicas, from every rank that it is made of."""
        return ranks(
            replicas if self.made_of_ranks else 1, function, self.exercise, replicas, *args
        )

    def compare(self, ranks, replicas, runs, reference=on_rank.alone):
        """All copies end each run (kind, optimizer, sizes of the batches) with the weights of the reference."""
        for results in self.on(ranks, replicas, on_rank.train, runs):
            for (kind, optimizer, sizes), copies in zip(runs, results, strict=True):
                off = max(furthest(copy, reference(kind, optimizer, sizes)) for copy in copies)
                assert off < CLOSE, (
                    f"{replicas} replicas, {optimizer}, {kind} model, batches of {', '.join(map(str, sizes))}: "
                    f"the weights are off by {off:.2g}"
                )

    @hint(
        "gradients of one step: their sum over the replicas, and nothing left from the step before"
    )
    def test_same_as_one_process(self, ranks):
        """Training gives the weights of one process on the whole batch, for SGD, momentum and AdamW."""
        self.compare(ranks, 3, [("plain", optimizer, (6, 6, 6)) for optimizer in OPTIMIZERS])

    @hint("a share's loss is divided by `share.whole`: so the gradients need a sum, not a mean")
    def test_uneven_batches(self, ranks):
        """It does so with batches of 7, 5 and 2 samples on 3 replicas: uneven shares, one of them empty."""
        self.compare(ranks, 3, [("plain", "SGD", (7, 5, 2))])

    @hint("`trained(model)` leaves out what is frozen and names a tied parameter once")
    def test_tied_and_frozen(self, ranks):
        """Tied parameters are added up once, frozen ones are left alone."""
        self.compare(ranks, 2, [(kind, "SGD", (6, 6)) for kind in ("tied", "frozen")])

    @hint("each replica normalizes its own share; gradients are summed, buffers averaged")
    def test_batch_norm(self, ranks):
        """BatchNorm is the exception: each replica normalizes its own share; statistics are averaged."""
        self.compare(
            ranks, 2, [("normed", "SGD", (8, 8))], lambda *run: on_rank.in_parts(*run, parts=2)
        )


class TestMirrored(_InSync):
    """Exercise 1: one process, several devices."""

    exercise = "mirrored"

    @hint("floating-point sums depend on their order: who adds up, and who copies?")
    def test_same_bits(self, ranks):
        """All mirrors are equal bit by bit after training."""
        (results,) = self.on(ranks, 4, on_rank.train, [("plain", "AdamW", (12,) * 4)])
        first, *others = results[0]
        assert len(others) == 3, f"there are {1 + len(others)} mirrors on 4 devices"
        same = all(torch.equal(a, b) for other in others for a, b in zip(first, other, strict=True))
        assert same, "some mirrors differ in their last bits, and will drift apart"

    @hint("`self.at_once` gives every replica a thread")
    def test_at_once(self, ranks):
        """The replicas take their steps at the same time."""
        assert self.on(ranks, 3, on_rank.at_once) == [True], (
            "a replica begins only when another has ended"
        )


class TestCentralStorage(_InSync):
    """Exercise 2: the variables in one place."""

    exercise = "central_storage"

    @hint("the optimizer knows the parameters that were made in the scope: update those, in place")
    def test_one_set(self, ranks):
        """The variables made in the scope are the ones that are trained; the replicas hold copies of their own."""
        moved, apart = self.on(ranks, 2, on_rank.kept)[0]
        assert moved, "after a step the model made in the scope has its first weights still"
        assert apart, "a replica shares its memory with the centre or with another replica"

    @hint("what is at the centre now, not what was there at the start; buffers too")
    def test_sends_out(self, ranks):
        """In every step the replicas see the variables and buffers as they are at the centre."""
        seen = self.on(ranks, 3, on_rank.changed_at_the_centre)[0]
        assert seen == [2.0] * 6, (
            f"a weight and a buffer were set to 2 at the centre; the three replicas see {seen}"
        )


class TestMultiWorker(_InSync):
    """Exercise 3: a process for each replica."""

    exercise = "multi_worker"
    made_of_ranks = True

    @hint("a model holds more than its parameters: look at `state_dict()`")
    def test_same_start(self, ranks):
        """Every worker starts with the variables and buffers of rank 0."""
        wanted = on_rank.alone("plain", "SGD", ())
        for rank, ((copy,),) in enumerate(self.on(ranks, 3, on_rank.train, [("plain", "SGD", ())])):
            off = furthest(copy, wanted)
            assert off == 0, (
                f"rank {rank} starts with variables that differ from rank 0's by {off:.2g}"
            )

    @hint("`split` has the shares of all workers; which one is yours?")
    def test_shares(self, ranks):
        """Of each batch every sample goes to one worker, and each share knows the size of the whole."""
        sizes = (7, 6)
        by_rank = self.on(ranks, 3, on_rank.dealt, sizes)
        for number, (inputs, _) in enumerate(on_rank.loader(sizes)):
            assert all(len(dealt) == len(sizes) for dealt in by_rank), (
                "the workers take different numbers of steps"
            )
            parts, wholes = zip(*(dealt[number] for dealt in by_rank), strict=True)
            drawn = [len(part) for part in parts]
            assert max(drawn) - min(drawn) <= 1, (
                f"the shares of a batch of {len(inputs)} have sizes {drawn}"
            )
            assert torch.equal(torch.cat(parts), inputs), (
                f"together the shares are not the batch of {len(inputs)}"
            )
            assert set(wholes) == {len(inputs)}, (
                f"shares of a batch of {len(inputs)} say it has {wholes}"
            )

    @hint("one torch.cat, one all_reduce")
    def test_one_message(self, ranks):
        """A step sends one message, as long as the gradients and the buffers."""
        for sent, length in self.on(ranks, 2, on_rank.messages):
            assert len(sent) == 1, f"a step sends {len(sent)} messages"
            assert sent[0][1] == length, (
                f"the message has {sent[0][1]} numbers for {length} gradients and buffers"
            )

    @hint("every worker needs the result, and the mean is over `num_replicas_in_sync`")
    def test_reduce(self, ranks):
        """reduce() gives every worker the sum, or the mean, over all of them."""
        for rank, (total, mean, count) in enumerate(self.on(ranks, 3, on_rank.reduced)):
            assert (total, mean) == (6, 2), (
                f"of 1, 2 and 3 rank {rank} gets the sum {total:g} and the mean {mean:g}"
            )
            assert count == 3, f"3 workers are {count} replicas in sync"

    @hint("write the communication yourself")
    def test_own_work(self, ranks):
        """It does not hand the work to torch's own DistributedDataParallel."""
        wanted = on_rank.alone("plain", "SGD", (6,))
        off = max(furthest(copy, wanted) for copy in self.on(ranks, 2, on_rank.without_library))
        assert off < CLOSE, f"the weights are off by {off:.2g}"


class TestParameterServer:
    """Exercise 4: asynchronous, with bounded staleness."""

    exercise = "parameter_server"

    @hint("with one worker nobody interferes: each update is a step of ordinary training")
    def test_one_worker(self, ranks):
        """With a single worker it is ordinary training: SGD, momentum and AdamW."""
        for rank, by_optimizer in enumerate(ranks(2, on_rank.one_worker, (4,) * 5)):
            for optimizer, got in by_optimizer.items():
                off = furthest(got, on_rank.alone("plain", optimizer, (4,) * 5))
                assert off < CLOSE, (
                    f"{optimizer}: after 5 steps of one worker rank {rank}'s weights are off by {off:.2g}"
                )

    @hint("the version that belongs to a gradient is the one it was computed from")
    def test_history(self, ranks):
        """With 3 workers, replaying the server's history in one process gives the server's weights, on every rank."""
        sizes = (4,) * 12
        results = ranks(4, on_rank.serve, 1, sizes)
        history = results[0][1]
        assert len(history) == len(sizes), (
            f"the history has {len(history)} updates for {len(sizes)} batches"
        )
        late = [number for number, (_, version) in enumerate(history) if not 0 <= version <= number]
        assert not late, f"update {late[:1]} claims a version that was not there yet"
        wanted = on_rank.replay(history, 3, sizes)
        off = max(furthest(got, wanted) for got, *_ in results)
        assert off < CLOSE, f"a replay of the history ends {off:.2g} away from the server's weights"

    @hint("how many versions are there when an update comes, and which one had its worker read?")
    def test_staleness(self, ranks):
        """staleness() counts the updates of others in between: with a bound of 0 and 3 workers, from 0 to 2."""
        _, history, stale = ranks(4, on_rank.serve, 0, (4,) * 12)[0]
        assert stale == [number - version for number, (_, version) in enumerate(history)], (
            f"the history {history[:4]} ... has the staleness {stale[:4]} ..."
        )
        assert set(stale) == {0, 1, 2}, (
            f"3 workers in step have a staleness of {sorted(set(stale))}"
        )

    @hint("asynchronous: within the bound, nobody waits for anybody")
    def test_goes_ahead(self, ranks):
        """With a bound of 2, a fast worker takes 3 steps while a slow one takes its first."""
        assert (steps := self.ahead(ranks)) >= 3, (
            f"the fast worker has begun {steps} step(s) and waits for the slow one"
        )

    @hint("whose steps are counted, and compared with whose?")
    def test_bound(self, ranks):
        """... and not a fourth one."""
        assert (steps := self.ahead(ranks)) <= 3, (
            f"the fast worker has begun {steps} steps, the bound is 2"
        )

    @hint("who is the slowest when a worker has finished?")
    def test_finished(self, ranks):
        """A worker that has finished holds up nobody: with a bound of 0, 7 batches for 3 workers are all done."""
        history = ranks(4, on_rank.serve, 0, (4,) * 7)[0][1]
        assert len(history) == 7, f"{len(history)} of 7 updates were made"

    def ahead(self, ranks) -> int:
        """How many steps worker 1 has begun before worker 2 ends its first, with a bound of 2."""
        with tempfile.TemporaryDirectory() as folder:
            return ranks(3, on_rank.ahead, 2, folder)[2]
