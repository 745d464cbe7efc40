"""Checks of data_parallel: DataParallel made of its four primitives."""

from course.checks.lab_01 import on_rank_data_parallel as on_rank
from course.checks.lab_01 import on_rank_nested
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE


class TestDataParallel:
    """Exercise 1: the forward pass on several devices."""

    def compare(self, alone, *cases: tuple[int, int], kinds: tuple[str, ...] = ("plain",)) -> None:
        """Outputs and gradients are those of the model on the whole batch.

        `cases` are pairs (samples, devices), `kinds` are kinds of models.
        """
        models = [(*case, kind) for kind in kinds for case in cases]
        results = alone(on_rank.compared, models)
        for (samples, devices, _), (output, gradient) in zip(models, results, strict=True):
            case = f"{samples} samples on {devices} devices"
            assert output < CLOSE, f"{case}: the output is off by {output:.2g}"
            assert gradient < CLOSE, f"{case}: the gradients are off by {gradient:.2g}"

    def nest(self, alone, kind: str) -> None:
        """Nested "inputs" or "outputs" (the `kind`) are right on several numbers of devices."""
        cases = [(6, 2), (5, 3), (1, 2)]
        results = alone(on_rank_nested.nested, cases, kind)
        for (samples, devices), wrong in zip(cases, results, strict=True):
            assert not wrong, f"{samples} samples on {devices} devices: {wrong}"

    @hint(
        "Autograd goes back through your operations by itself. "
        "Do you detach or scale something on the way?"
    )
    def test_same_as_one_device(self, alone):
        """Outputs and gradients are those of the model on the whole batch (2 and 4 devices)."""
        self.compare(alone, (8, 2), (8, 4))

    @hint(
        "The gradients of all replicas, the master's too, belong to the same parameters. "
        "Do you change the module itself?"
    )
    def test_tied_and_frozen(self, alone):
        """Tied and frozen parameters get the gradients that they get on one device."""
        self.compare(alone, (6, 3), kinds=("tied", "frozen"))

    @hint(
        "`scatter` makes the pieces. How large is the last one, "
        "and how many pieces do 5 samples on 4 devices make?"
    )
    def test_uneven(self, alone):
        """A batch that the number of devices does not divide: 7 on 3, 5 on 4, 3 on 2."""
        self.compare(alone, (7, 3), (5, 4), (3, 2))

    @hint("There may be fewer shares than devices. How many replicas do you need then?")
    def test_small_batch(self, alone):
        """A batch smaller than the number of devices: 1 on 2, 1 on 4, 2 on 3."""
        self.compare(alone, (1, 2), (1, 4), (2, 3))

    @hint("A list with one device is also a list of devices. Is it a special case for you?")
    def test_one_device(self, alone):
        """It works on one device."""
        self.compare(alone, (4, 1), (1, 1))

    @hint(
        "What does the next forward pass use: the parameters as the optimizer left them, "
        "or older copies?"
    )
    def test_training(self, alone):
        """Three steps of AdamW leave the weights that one device has."""
        off = alone(on_rank.trained, 3)
        assert off < CLOSE, f"3 devices: after 3 steps the weights are off by {off:.2g}"

    @hint("Each share goes to the replica on its own device. Does it, in your forward pass?")
    def test_replicas(self, alone):
        """Each device runs a replica with memory of its own, on its share: 5 samples on 3
        devices.
        """
        seen = alone(on_rank.replicas, 5, 3)
        assert not seen["bare"], "the module itself runs, not a replica of it"
        assert seen["samples"] == [1, 2, 2], (
            f"the samples that each forward pass saw are {seen['samples']}"
        )
        assert seen["places"] == 3, f"3 devices use weights in {seen['places']} places in memory"

    @hint("One of the four primitives runs the replicas in threads. Do you use it?")
    def test_threads(self, alone):
        """The replicas run at the same time: each waits in forward until all have come."""
        seen = alone(on_rank.replicas, 6, 3, together=3)
        assert seen["threads"] == 3, f"3 replicas ran in {seen['threads']} threads"

    @hint(
        "The entries of a container can be containers too. Does each device get a container "
        "of the same kind, with its share of every entry?"
    )
    def test_nested_inputs(self, alone):
        """Tensors in dicts, lists and tuples, and by name, reach their replica in the same
        place.
        """
        self.nest(alone, "inputs")

    @hint("A batch for BERT is passed by name only. What are `args` then?")
    def test_by_name(self, alone):
        """A call with named tensors only works; this is how BERT is called."""
        for size, devices in ((4, 2), (2, 3)):
            off = alone(on_rank.only_by_name, size, devices)
            assert off < CLOSE, (
                f"{size} samples on {devices} devices: the output is off by {off:.2g}"
            )

    @hint("What has no first dimension cannot be cut. What should each device get of it?")
    def test_constants(self, alone):
        """Flags, strings, None and empty containers reach every replica as they are."""
        wrong = alone(on_rank.constants, 3)
        assert not wrong, wrong[0]

    @hint(
        "Which parts of the outputs belong together? "
        "Keep the kind of container, and the order of its entries."
    )
    def test_nested_outputs(self, alone):
        """Outputs in dicts, lists and tuples are joined, each entry in its place, of the same
        kind.
        """
        self.nest(alone, "outputs")

    @hint(
        "Share i belongs to replica i on device i. Which device is the first, and are all of them "
        "used when there are fewer shares?"
    )
    def test_devices(self, alone):
        """Each primitive gets the right devices, for 2 samples on 3; outputs meet on the first."""
        used = alone(on_rank.devices_used, 3)
        expected = {
            "scatter": [0, 1, 2],
            "replicate": [0, 1],
            "parallel_apply": [0, 1],
            "gather": 0,
        }
        for name, calls in used.items():
            for got in calls:
                assert got == expected[name], (
                    f"2 samples on 3 devices: {name} gets device {got} instead of {expected[name]}"
                )

    @hint("The caller keeps its module and its batch. What of them do you change or keep?")
    def test_left_alone(self, alone):
        """The module, its mode, the inputs and `no_grad` are respected; no call keeps memory."""
        wrong = alone(on_rank.left_alone)
        assert not wrong, wrong[0]
