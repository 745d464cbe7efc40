"""What the checks of data_parallel do: run it on virtual devices, and bring back what it did."""

import importlib
import inspect
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import torch
from torch import Tensor, nn

from course.checks.lab_01.on_rank_values import gradients, in_words
from course.checks.tools.loose_ends import describe_leaks
from course.checks.tools.reference import WIDTH, Small, batch, furthest, weights

# How often a replica checks for the others. Turns, not seconds: on a busy machine, a turn takes
# longer for this thread, as it does for those that it waits for.
TURNS = 500
TURN_S = 0.01


def where(count: int) -> list[torch.device]:
    """That many virtual devices."""
    return [torch.device("cpu", i) for i in range(count)]


def data_parallel() -> Callable:
    """The learner's function."""
    return importlib.import_module("data_parallel").data_parallel


def compared(cases: list[tuple[int, int, str]]) -> list[tuple[float, float]]:
    """How far outputs and gradients are from those of the model alone.

    Each case is (samples, devices, kind of model).
    """
    run, off = data_parallel(), []
    for samples, devices, kind in cases:
        mine, alone = Small(seed=0, kind=kind), Small(seed=0, kind=kind)
        inputs, targets = batch(samples, devices, size=samples)
        output, expected = run(mine, where(devices), inputs), alone(inputs)
        if not isinstance(output, Tensor) or output.shape != expected.shape:
            raise AssertionError(
                f"{samples} samples on {devices} devices: the output is {in_words(output)}"
            )
        for out in (output, expected):
            nn.functional.mse_loss(out, targets).backward()
        off.append((furthest([output], [expected]), furthest(gradients(mine), gradients(alone))))
    return off


def trained(devices: int) -> float:
    """How far the weights are from those of the model alone after three steps of AdamW."""
    mine, alone = Small(seed=0), Small(seed=0)
    updates = [torch.optim.AdamW(model.parameters(), lr=0.01) for model in (mine, alone)]
    run = data_parallel()
    for step in range(3):
        inputs, targets = batch(step, 0, size=7)
        for update, predict in zip(
            updates, (lambda x: run(mine, where(devices), x), alone), strict=True
        ):
            update.zero_grad()
            nn.functional.mse_loss(predict(inputs), targets).backward()
            update.step()
    return furthest(weights(mine), weights(alone))


class Probe(nn.Module):
    """A model that notes what each replica sees, and waits until `together` of them have come."""

    def __init__(self, together: int = 1) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, 1)
        self.seen: list[SimpleNamespace] = []
        self.together = together

    def forward(self, *args: object, **kwargs: object) -> Tensor:
        """Predictions from the first argument."""
        weight = self.layer.weight
        thread = threading.current_thread()
        seen = {"weight": weight, "thread": thread, "training": self.training}
        self.seen.append(SimpleNamespace(args=args, kwargs=kwargs, **seen))
        self._await_the_others()
        return self.layer(args[0])

    def _await_the_others(self) -> None:
        for _ in range(TURNS):
            if len(self.seen) >= self.together:
                return
            time.sleep(TURN_S)
        raise AssertionError("a replica begins only when another has ended")


def replicas(samples: int, devices: int, together: int = 1) -> dict:
    """What the replicas were: how many samples each saw, and in how many threads they ran.

    Also in how many places of memory their weights were; and whether one was the module itself.
    """
    probe = Probe(together)
    data_parallel()(probe, where(devices), torch.randn(samples, WIDTH))
    return {
        "samples": sorted(len(entry.args[0]) for entry in probe.seen),
        "places": len({entry.weight.data_ptr() for entry in probe.seen}),
        "threads": len({id(entry.thread) for entry in probe.seen}),
        "bare": any(isinstance(entry.weight, nn.Parameter) for entry in probe.seen),
    }


def constants(devices: int) -> list[str]:
    """The inputs, other than tensors, that reached the replicas changed."""
    options = {
        "flag": True,
        "name": "train",
        "nothing": None,
        "empty": (),
        "no entries": {},
        "size": 3,
    }
    probe = Probe()
    data_parallel()(probe, where(devices), torch.randn(2 * devices, WIDTH), options, **options)
    if len(probe.seen) != devices:
        return [f"{len(probe.seen)} replicas ran on {devices} devices"]
    return [
        f"{name!r} arrives as {got.get(name)!r}"
        for entry in probe.seen
        for got in (entry.kwargs, entry.args[1])
        for name, value in options.items()
        if got.get(name, "missing") != value
    ]


def only_by_name(size: int, devices: int) -> float:
    """How far the output is from the model's alone for a batch of named tensors, as BERT's."""
    model, inputs = Small(seed=0), batch(0, 0, size=size)[0]
    return furthest([data_parallel()(model, where(devices), x=inputs)], [model(inputs)])


def devices_used(count: int) -> dict[str, list]:
    """By name of the primitive: the devices that its calls were given, for 2 samples on `count`."""
    primitives, used, devices = importlib.import_module("devices"), {}, where(count)

    def noting(name: str, real: Callable) -> Callable:
        def call(*args: object, **kwargs: object) -> object:
            bound = inspect.signature(real).bind(*args, **kwargs).arguments
            used.setdefault(name, []).append([*bound.values()][-1])  # devices are named last
            return real(*args, **kwargs)

        return call

    for name in ("scatter", "replicate", "parallel_apply", "gather"):
        setattr(primitives, name, noting(name, getattr(primitives, name)))
    data_parallel()(Small(seed=0), devices, torch.randn(2, WIDTH))
    return {name: [_indices(places) for places in calls] for name, calls in used.items()}


def _indices(places: object) -> object:
    """The number of a device, or the numbers of several."""
    if isinstance(places, str | torch.device):
        return torch.device(places).index
    return [_indices(place) for place in places]


def left_alone() -> list[str]:
    """What a call does to its module, to its inputs, or to the setting of autograd."""
    faults = []
    for training in (True, False):
        probe, run = Probe().train(training), data_parallel()
        before = _state(probe)
        fields = {"flag": True, "x": torch.randn(4, WIDTH)}
        inputs = dict(fields)
        with torch.no_grad():
            output = run(probe, where(2), torch.randn(4, WIDTH), inputs)
        modes = {entry.training for entry in probe.seen}
        if modes != {training}:
            faults.append(f"training is {training} for the module, but {modes} for its replicas")
        if output.requires_grad:
            faults.append("under no_grad the output requires a gradient")
        changed = [name for name, old in before.items() if _state(probe).get(name) != old]
        changed += [name for name in _state(probe) if name not in before]
        if changed:
            faults.append(f"the call changes the module: {', '.join(changed)}")
        if inputs.keys() != fields.keys() or any(inputs[k] is not fields[k] for k in fields):
            faults.append("the call changes a container that the caller passes")
    model, inputs = Small(seed=0), batch(0, 0, size=4)[0]
    loose_end = describe_leaks(lambda: run(model, where(2), inputs))
    return [*faults, loose_end] if loose_end else faults


def _state(probe: Probe) -> dict[str, object]:
    """What a call must leave as it is: the module's attributes, hooks, parameters and mode."""
    state = {name: repr(value) for name, value in vars(probe).items() if name != "seen"}
    for name, parameter in probe.named_parameters():
        state[name] = id(parameter), parameter.requires_grad, parameter.dtype
    return state
