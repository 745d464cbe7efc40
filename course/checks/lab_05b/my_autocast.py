"""Checks of `my_autocast`, exercise 1 of lab 05b."""

from course.checks.lab_05b import on_rank_my_autocast as on_rank
from course.checks.tools.hint import hint


class TestMyAutocast:
    """Exercise 1: autocast by lists."""

    @hint("Every floating-point argument of a product goes to self.dtype, before the product.")
    def test_low(self, alone):
        """Products are computed in 16 bits, in the format of the mode, and so are their results."""
        for dtype, (formats, difference) in alone(on_rank.low).items():
            for name, got in formats.items():
                assert got == dtype, f"within Autocast({dtype}) {name} comes out as {got}"
            assert difference == 0, (
                f"(2049, -2048) @ (1, 1) within Autocast({dtype}) is {difference:g}: {dtype} "
                "rounds 2049 to 2048, so the factors were multiplied in more bits"
            )

    @hint("What should happen to the arguments of an operation on the second list?")
    def test_full(self, alone):
        """The results of softmax, norms, sums and losses are float32, and a sum too large for
        float16 is finite.
        """
        formats, total = alone(on_rank.full)
        for name, got in formats.items():
            assert got == "float32", f"{name} comes out as {got}"
        assert total == 131072, f"the sum of 4,096 times 32 is {total}"

    @hint("An operation on neither list keeps its arguments as they are.")
    def test_others(self, alone):
        """Other operations take what comes; integers stay integers."""
        expected = {
            "relu of 32 bits": "float32",
            "relu of 16": "bfloat16",
            "embedding": "float32",
            "16 + 32 bits": "float32",
            "integers": "int64",
            "cumsum of 16": "bfloat16",
            "expand of 16": "bfloat16",
        }
        for name, got in alone(on_rank.others).items():
            assert got == expected[name], f"{name} comes out as {got}"

    @hint(
        "Arguments come by position and by name, in lists and in dicts; "
        "masks and labels are tensors too."
    )
    def test_arguments(self, alone):
        """cast goes into containers, also namedtuples, and leaves integers, masks and float64
        alone; keyword arguments are cast too.
        """
        results = alone(on_rank.arguments)
        assert results["nested"] == ["torch.bfloat16"] * 5, (
            "float32 in a tuple, a list, a list in a list, a dict, and deeper in it comes back as "
            f"{', '.join(results['nested'])}"
        )
        assert results["kept"], (
            "a mask, labels, complex numbers, a number or a word came back changed"
        )
        assert str(results["too large"]) == "[inf, nan]", (
            f"1e6 and nan in float16 are inf and nan; yours are {results['too large']}"
        )
        assert results["containers"], "a container came back as another kind of container"
        assert results["float64"] == "torch.float64", (
            f"a float64 tensor comes back as {results['float64']}; torch's autocast leaves it alone"
        )
        assert results["namedtuple"] == "a Container with torch.bfloat16 and torch.int64", (
            f"of a namedtuple with float32 and int64 it makes: {results['namedtuple']}"
        )
        assert results["keywords"] == "torch.bfloat16", (
            f"F.linear(input=x, weight=x) comes out as {results['keywords']}"
        )

    @hint("A cast that autograd records returns the gradient in the weight's own format.")
    def test_training(self, alone):
        """Weights stay float32, their gradients are float32 and close to those of a float32 run.
        The next block computes with the new weights.
        """
        held, formats, off = alone(on_rank.training)
        assert held == {"torch.float32"}, f"after a step the weights are {', '.join(sorted(held))}"
        assert formats == {"torch.float32"}, (
            f"the weights' gradients are {', '.join(sorted(formats))}"
        )
        assert off < 0.05, f"the gradients are {100 * off:.0f} % away from those of a float32 run"
        assert alone(on_rank.next_block) == 0, (
            "after a step the next block still computes with copies of the old weights"
        )

    @hint("Write the casts yourself, without torch.autocast.")
    def test_own_work(self, alone):
        """It does not hand the work to torch.autocast."""
        got = alone(on_rank.without_library)
        assert got == "torch.bfloat16", f"without torch.autocast a product comes out as {got}"
