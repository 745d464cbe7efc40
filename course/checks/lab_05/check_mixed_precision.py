"""Checks of lab 05: master weights, the loss scaler, autocast by lists, a whole step, a checkpoint."""

from course.checks.engine.catalogue import hint
from course.checks.engine.reference import furthest
from course.checks.lab_05 import on_rank_formats as alone
from course.checks.lab_05 import on_rank_scaler as scaling
from course.checks.lab_05 import on_rank_steps as stepping

CLOSE = 1e-5  # float32, different orders of summation


class TestMasterWeights:
    """Exercise 1: float32 master weights."""

    exercise = "master_weights"

    @hint(
        "which of the two is rounded, the weight or the master? Which format have a master's gradients?"
    )
    def test_small_changes(self, ranks):
        """A thousand changes of 0.0001 arrive in a float16 weight of 1."""
        weight, master = ranks(1, alone.small_changes, join=False)[0]
        assert abs(master - 1.1) < 1e-3, f"the master is {master:.4f} instead of 1.1"
        assert abs(weight - 1.1) < 1e-3, f"the weight is {weight:.4f} instead of 1.1"

    @hint("`.float()` of a tensor that is float32 already is that very tensor, not a copy")
    def test_copies(self, ranks):
        """Masters are float32 copies that start where the weights are, share nothing with them, and are stepped."""
        found = ranks(1, alone.copies, join=False)[0]
        assert found["formats"] == {"torch.float32"}, (
            f"the masters are {', '.join(sorted(found['formats']))}"
        )
        assert found["start"] == 0, f"the masters start {found['start']:.2g} away from the weights"
        assert found["stepped"], "the optimizer does not hold the masters"
        assert found["model unchanged"], "making the masters has changed the model"
        assert found["apart"], (
            "a change of the masters changes the model at once: they share memory"
        )

    @hint(
        "which way do the numbers go after the optimizer's step, and does the parameter stay the same tensor?"
    )
    def test_rounded(self, ranks):
        """After a step the model's weights are the masters, rounded, in the formats that they had."""
        changed, off = ranks(1, alone.rounded, join=False)[0]
        assert not changed, f"the model's weights have become {', '.join(changed)}"
        assert off == 0, f"a weight differs from its rounded master by {off:.2g}"

    @hint("a gradient goes into its master as it is, once")
    def test_same_as_float32(self, ranks):
        """The masters are what float32 weights with the same gradients would be, for momentum and AdamW."""
        for name, off in ranks(1, alone.reference, join=False)[0].items():
            assert off == 0, f"{name}: after 5 steps a master is off by {off:.2g}"

    @hint(
        "an optimizer leaves alone what has the gradient None, and moves on with its momentum what has zeros"
    )
    def test_unused(self, ranks):
        """A weight without a gradient is left alone."""
        moved = ranks(1, alone.unused, join=False)[0]
        assert moved == 0, f"a weight without a gradient in this step has moved by {moved:.2g}"


class TestMyScaler:
    """Exercise 2: the dynamic loss scaler."""

    exercise = "my_scaler"

    @hint("multiply the loss; divide every gradient, in place, in every step")
    def test_gradients(self, ranks):
        """Gradients are `factor` times as large after backward, and as they should be after unscale_, in each step."""
        for step, (scaled, unscaled) in enumerate(ranks(1, scaling.gradients, join=False)[0]):
            assert scaled < CLOSE, (
                f"step {step}: a scaled gradient is off by {scaled:.2g} times the factor"
            )
            assert unscaled < CLOSE, f"step {step}: an unscaled gradient is off by {unscaled:.2g}"

    @hint(
        "write down factor and good_steps after each step; float32 ends below 2**128, where it says inf"
    )
    def test_decisions(self, ranks):
        """On forty steps with inf and nan planted, factor, count and weights are torch's after every step."""
        inf, nan = float("inf"), float("nan")
        planted = {
            0: (0, inf),
            4: (9, nan),
            5: (3, -inf),
            11: (5, inf),
            12: (5, inf),
            13: (5, nan),
            30: (1, inf),
        }
        cases = {
            "interval 3": ({"factor": 1024.0, "growth": 2.0, "backoff": 0.5, "interval": 3}, planted, 40),
            "interval 1, near float32's end": (
                {"factor": 2.0**120, "growth": 4.0, "backoff": 0.25, "interval": 1}, {2: (0, nan)}, 8,
            ),
        }  # fmt: skip
        for name, (mine, theirs, off) in ranks(1, scaling.all_decisions, cases, join=False)[
            0
        ].items():
            for step, (got, wanted) in enumerate(zip(mine, theirs, strict=True)):
                assert got == wanted, (
                    f"{name}: after step {step}{' (overflow)' * (step in cases[name][1])} your factor is {got[0]:g} "
                    f"and your count {got[1]}; torch's are {wanted[0]:g} and {wanted[1]}"
                )
            assert off < CLOSE, (
                f"{name}: the weights differ from those under torch's scaler by {off:.2g}"
            )

    @hint("a comparison with nan is never true; one bad element of one gradient is enough")
    def test_finds(self, ranks):
        """An inf, -inf or nan in one element of any gradient is found, and nothing else is."""
        for what, was_skipped in ranks(1, scaling.finds, join=False)[0].items():
            clean = what.startswith("None")
            assert was_skipped != clean, (
                "a good step is skipped" if clean else f"{what} is not found"
            )

    @hint("momentum and AdamW's averages would take in a step that was not one")
    def test_skips(self, ranks):
        """A skipped step moves neither the weights nor the optimizer's state."""
        moved, same, calls = ranks(1, scaling.skipped, join=False)[0]
        assert moved == 0, f"the weights move by {moved:.2g} in a step that overflows"
        assert same and not calls, "the optimizer is stepped although a gradient has overflowed"

    @hint("who calls unscale_ to clip calls it before step does")
    def test_once(self, ranks):
        """With unscale_ called before step, to clip, the weights are those under torch's scaler."""
        off = ranks(1, scaling.once, join=False)[0]
        assert off < CLOSE, f"the weights differ by {off:.2g}"

    @hint("ask the others: is anyone's flag up?")
    def test_same_decision(self, ranks):
        """Where rank 1 of three alone overflows and nobody averages gradients, all three skip and keep one factor."""
        records = ranks(3, scaling.sharded)
        for step, by_rank in enumerate(zip(*records, strict=True)):
            skips, factors = zip(*by_rank, strict=True)
            assert set(skips) == {step in (1, 4)}, f"step {step}, by rank: skipped {skips}"
            assert len(set(factors)) == 1, f"after step {step} the ranks' factors are {factors}"

    @hint("DDP's average carries the inf to everyone; what do you make of it?")
    def test_ddp(self, ranks):
        """Under DDP, where one rank's loss overflows, every rank decides as torch's scaler does."""
        for rank, (mine, theirs, off) in enumerate(ranks(2, scaling.replicated)):
            assert mine == theirs, f"rank {rank}: your factors are {mine}, torch's {theirs}"
            assert off < CLOSE, (
                f"rank {rank}: the weights differ from those under torch's scaler by {off:.2g}"
            )

    @hint("one flag for all gradients together")
    def test_message(self, ranks):
        """The ranks exchange one number a step."""
        for step, sent in enumerate(ranks(2, scaling.messages)[0]):
            numbers = sum(count for _, count, _ in sent)
            assert len(sent) == 1 and numbers == 1, (
                f"step {step}: {len(sent)} messages with {numbers} numbers"
            )


class TestMyAutocast:
    """Exercise 3: autocast by lists."""

    exercise = "my_autocast"

    @hint("every floating-point argument of a product goes to self.dtype")
    def test_low(self, ranks):
        """Products come out in 16 bits, in the format of the mode."""
        for dtype, formats in ranks(1, alone.low, join=False)[0].items():
            for name, got in formats.items():
                assert got == dtype, f"within Autocast({dtype}) {name} comes out as {got}"

    @hint("the second list is as important as the first")
    def test_full(self, ranks):
        """Softmax, norms, sums and losses come out in float32, and a sum that float16 cannot hold is finite."""
        formats, total = ranks(1, alone.full, join=False)[0]
        for name, got in formats.items():
            assert got == "float32", f"of a float16 tensor {name} comes out as {got}"
        assert total == 131072, f"the sum of 4,096 times 32 is {total}"

    @hint("what is on neither list is none of your business")
    def test_others(self, ranks):
        """Other operations take what comes; integers stay integers."""
        wanted = {
            "relu of 32 bits": "float32", "relu of 16": "bfloat16", "embedding": "float32", "16 + 32 bits": "float32",
            "integers": "int64",
        }  # fmt: skip
        for name, got in ranks(1, alone.others, join=False)[0].items():
            assert got == wanted[name], f"{name} comes out as {got}"

    @hint(
        "arguments come by position and by name, in lists and in dicts; masks and labels are tensors too"
    )
    def test_arguments(self, ranks):
        """cast goes into containers and leaves all but floating-point tensors alone; keyword arguments are cast too."""
        found = ranks(1, alone.arguments, join=False)[0]
        assert found["nested"] == ["torch.bfloat16"] * 3, (
            f"in a tuple, a list, a dict: {found['nested']}"
        )
        assert found["kept"], (
            "a mask, labels, a number or a word came back changed, or a container of another type"
        )
        assert found["containers"], "a container came back as another kind of container"
        assert found["keywords"] == "torch.bfloat16", (
            f"F.linear(input=x, weight=x) comes out as {found['keywords']}"
        )

    @hint("a cast that autograd sees hands the gradient back in the weight's own format")
    def test_training(self, ranks):
        """Weights stay float32, their gradients are float32 and close to those of a float32 run."""
        held, formats, off = ranks(1, alone.training, join=False)[0]
        assert held == {"torch.float32"}, f"after a step the weights are {', '.join(sorted(held))}"
        assert formats == {"torch.float32"}, (
            f"the weights' gradients are {', '.join(sorted(formats))}"
        )
        assert off < 0.05, f"the gradients are {off:.0%} away from those of a float32 run"

    @hint("look at the output, each time the layer runs, under the layer's own name")
    def test_watch(self, ranks):
        """watch names every layer without inner layers and the format of its latest output."""
        bf16, fp16, plain = ranks(1, alone.watched, join=False)[0]
        wanted = {"0": "bfloat16", "1.0": "float32", "1.1": "float32", "2": "bfloat16"}
        assert bf16 == wanted, f"watch says {bf16} instead of {wanted}"
        assert fp16 == {n: f.replace("bfloat16", "float16") for n, f in wanted.items()}, (
            f"then, in float16: {fp16}"
        )
        assert set(plain.values()) == {"float32"}, f"and without autocast: {plain}"

    @hint("write the casts yourself")
    def test_own_work(self, ranks):
        """It does not hand the work to torch.autocast."""
        got = ranks(1, alone.without_library, join=False)[0]
        assert got == "torch.bfloat16", f"without torch.autocast a product comes out as {got}"


class TestAmpStep:
    """Exercise 4: clipping and accumulation in their places."""

    exercise = "amp_step"

    @hint(
        "a norm limit means something only for the gradient that the optimizer will see, of the whole batch"
    )
    def test_same_as_one_process(self, ranks):
        """Three clipped steps of three parts give the weights of one process on whole batches, at any scale."""
        for rank, results in enumerate(ranks(2, stepping.stepped, (1.0, 4096.0))):
            wanted = stepping.step_alone(2)[1]
            for factor, (_, got, _) in results.items():
                off = furthest(got, wanted)
                assert off < CLOSE, (
                    f"scale {factor:g}: rank {rank}'s weights are off by {off:.2g} after 3 steps"
                )

    @hint("clip_grad_norm_ returns the norm it found: of which gradients?")
    def test_norm(self, ranks):
        """The norm is that of the whole batch's gradient, unscaled, before clipping."""
        wanted = stepping.step_alone(2)[0]
        for factor, (got, _, _) in ranks(2, stepping.stepped, (1.0, 4096.0))[0].items():
            off = max(abs(a - b) for a, b in zip(got, wanted, strict=True))
            assert off < 1e-4, f"scale {factor:g}: the norms are {got} instead of {wanted}"

    @hint("DDP decides in forward whether the next backward will communicate")
    def test_messages(self, ranks):
        """DDP communicates once a step."""
        for _, _, counts in ranks(2, stepping.stepped, (1.0,))[0].values():
            assert set(counts) == {1}, (
                f"in {len(counts)} steps of {stepping.PARTS} parts DDP sends {counts} times"
            )

    @hint("autocast belongs around forward and loss, for every part, and ends before backward")
    def test_autocast(self, ranks):
        """Every part's forward runs in bfloat16, backward outside autocast."""
        formats, inside, parts = ranks(2, stepping.formats)[0]
        assert parts == stepping.PARTS, f"of {stepping.PARTS} parts the model sees {parts}"
        assert formats == {"torch.bfloat16"}, f"a layer's output is {', '.join(sorted(formats))}"
        assert inside == {False}, "backward runs inside autocast"

    @hint(
        "the scaler decides whether to step, and learns of it in update(), once; bad gradients must not linger"
    )
    def test_overflow(self, ranks):
        """A step that overflows on one rank is skipped on all, halves the scale once, and leaves no trace."""
        for rank, found in enumerate(ranks(2, stepping.overflow)):
            assert found["moved"] == 0, f"rank {rank} steps although a part has overflowed"
            assert found["scale"] == 32, (
                f"rank {rank}: after one overflow the scale goes from 64 to {found['scale']:g}"
            )
            assert not found["left"], f"rank {rank}: gradients are left over after the step"
            assert found["learns"], (
                f"rank {rank}: the good step after it does not change the weights as it should"
            )
            assert found["tracker"] == 1, (
                f"rank {rank}: after one good step the scaler counts {found['tracker']}"
            )


class TestAmpResume:
    """Exercise 5: save and go on."""

    exercise = "amp_resume"

    @hint("which of the four does the next step depend on?")
    def test_goes_on(self, ranks, tmp_path):
        """A run that stops half-way and goes on ends, on every rank, with the weights of one that never stopped."""
        for rank, found in enumerate(ranks(2, stepping.resumed, str(tmp_path / "job.pt"))):
            assert found["off"] == 0, (
                f"rank {rank}: the weights are off by {found['off']:.2g} in the end"
            )

    @hint("the scaler has a state_dict of its own, with the count in it")
    def test_scaler(self, ranks, tmp_path):
        """Scale and count of good steps are as they were."""
        for rank, found in enumerate(ranks(2, stepping.resumed, str(tmp_path / "job.pt"))):
            for name, wanted in found["wanted"].items():
                got = found["scaler"][name]
                assert got == wanted, (
                    f"rank {rank}: the scaler's {name} was {wanted:g} and comes back as {got:g}"
                )

    @hint("the next step to take is the one that was saved")
    def test_step(self, ranks, tmp_path):
        """load returns the step that was saved."""
        for found in ranks(2, stepping.resumed, str(tmp_path / "job.pt")):
            assert found["step"] == stepping.STOP, (
                f"saved at step {stepping.STOP}, loaded as {found['step']}"
            )

    @hint("several ranks writing one file can leave a mixture of both")
    def test_one_writer(self, ranks, tmp_path):
        """Rank 0 writes, nobody else."""
        wrote = [found["wrote"] for found in ranks(2, stepping.saved, str(tmp_path / "job.pt"))]
        assert wrote == [True, False], f"by rank: {wrote}"

    @hint("rank 1 has nothing to write; does it know when rank 0 is done?")
    def test_whole(self, ranks, tmp_path):
        """When save returns on any rank, the file is there."""
        for rank, found in enumerate(ranks(2, stepping.saved, str(tmp_path / "job.pt"))):
            assert found["whole"], f"rank {rank} goes on before the file is written"

    @hint("DDP puts `module.` before every name; the model inside it does not")
    def test_plain(self, ranks, tmp_path):
        """The file holds the four by name, and its weights load into a model without DDP."""
        found = ranks(2, stepping.saved, str(tmp_path / "job.pt"))[0]
        assert set(found["names"]) >= {"step", "model", "optimizer", "scaler"}, (
            f"the file holds {found['names']}"
        )
        assert found["off"] == 0, f"a loaded weight is off by {found['off']:.2g}"
