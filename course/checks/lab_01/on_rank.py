"""What the checks of lab 01 do: run the learner's code on virtual devices, and bring back what it did."""

import importlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from types import SimpleNamespace

import torch
from torch import Tensor, nn

from course.checks.engine.reference import WIDTH, Small, batch, furthest, weights

WAIT_S = 1.5  # for the other replicas


def where(count: int) -> list[torch.device]:
    """That many virtual devices."""
    return [torch.device("cpu", i) for i in range(count)]


def data_parallel() -> Callable:
    """The learner's function."""
    return importlib.import_module("data_parallel").data_parallel


# -- data_parallel -----------------------------------------------------------------------------------------------------


def compared(cases: list[tuple[int, int, str]]) -> list[tuple[float, float]]:
    """For each (samples, devices, kind of model): how far outputs and gradients are from those of the model alone."""
    run, off = data_parallel(), []
    for samples, devices, kind in cases:
        mine, alone = Small(seed=0, kind=kind), Small(seed=0, kind=kind)
        inputs, targets = batch(samples, devices, size=samples)
        output, expected = run(mine, where(devices), inputs), alone(inputs)
        if not isinstance(output, Tensor) or output.shape != expected.shape:
            raise AssertionError(
                f"{samples} samples on {devices} devices: the output is {shown(output)}"
            )
        for out in (output, expected):
            nn.functional.mse_loss(out, targets).backward()
        off.append((furthest([output], [expected]), furthest(gradients(mine), gradients(alone))))
    return off


def gradients(model: nn.Module) -> list[Tensor]:
    """The gradients of all parameters, zeros where there is none."""
    return [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]


def shown(value: object) -> str:
    """A value for a message: shapes for tensors."""
    if isinstance(value, Tensor):
        return f"a tensor {tuple(value.shape)}"
    return f"a {type(value).__name__}"


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
    """A model that notes what each of its replicas sees, and waits until `together` of them have come."""

    def __init__(self, together: int = 1) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, 1)
        self.seen: list[SimpleNamespace] = []
        self.barrier = threading.Barrier(together)

    def forward(self, *args: object, **kwargs: object) -> Tensor:
        """Predictions from the first argument."""
        weight = self.layer.weight
        thread = threading.current_thread()
        self.seen.append(SimpleNamespace(args=args, kwargs=kwargs, weight=weight, thread=thread))
        try:
            self.barrier.wait(WAIT_S)
        except threading.BrokenBarrierError:
            raise AssertionError("a replica begins only when another has ended") from None
        return self.layer(args[0])


def replicas(samples: int, devices: int, together: int = 1) -> dict:
    """The samples of each replica; in how many places its weights were, in how many threads it ran; if it was none."""
    probe = Probe(together)
    data_parallel()(probe, where(devices), torch.randn(samples, WIDTH))
    return {
        "samples": sorted(len(entry.args[0]) for entry in probe.seen),
        "places": len({entry.weight.data_ptr() for entry in probe.seen}),
        "threads": len({id(entry.thread) for entry in probe.seen}),
        "bare": any(isinstance(entry.weight, nn.Parameter) for entry in probe.seen),
    }


class Nested(nn.Module):
    """A model with inputs in a dict, in a list in a tuple, and by name, and with outputs of the same kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)

    def forward(self, fields: dict, pair: tuple, *, scale: Tensor, note: str = "") -> dict:
        """Outputs that depend on every tensor among the inputs."""
        if not isinstance(fields, dict) or type(pair) is not tuple or type(pair[1]) is not list:
            raise AssertionError(
                f"a replica got {type(fields).__name__}, {type(pair).__name__} instead of dict, tuple"
            )
        first = self.layer(fields["x"]) * scale
        second = pair[0] + pair[1][0]
        return OrderedDict(
            first=first, rest=(second, [first + second, second]), note=note, nothing=None
        )


def nested(cases: list[tuple[int, int]], kind: str) -> list[str]:
    """What is wrong with nested `inputs` or `outputs` (the `kind`) for each (samples, devices); "" if nothing is."""
    return [_nested(*case, kind) for case in cases]


def _nested(samples: int, devices: int, kind: str) -> str:
    model, draw = Nested(), torch.Generator().manual_seed(0)
    x, y, z, scale = (torch.randn(samples, WIDTH, generator=draw) for _ in range(4))
    call = (({"x": x}, (y, [z])), {"scale": scale, "note": "as it is"})
    got, expected = (
        data_parallel()(model, where(devices), *call[0], **call[1]),
        model(*call[0], **call[1]),
    )
    if kind == "inputs":
        return (
            ""
            if torch.allclose(got["first"], expected["first"])
            else "the inputs reach the replicas mixed up"
        )
    return different(got, expected)


def different(got: object, expected: object, place: str = "the output") -> str:
    """The first difference between nested values, "" if there is none."""
    if type(got) is not type(expected):
        return f"{place} is {shown(got)} instead of {shown(expected)}"
    if isinstance(expected, Tensor):
        same = got.shape == expected.shape and torch.allclose(got, expected)
        return "" if same else f"{place} has other values than the model alone gives"
    if isinstance(expected, dict):
        if list(got) != list(expected):
            return f"{place} has the entries {list(got)} instead of {list(expected)}"
        parts = [(got[name], expected[name], f"{place}[{name!r}]") for name in expected]
    elif isinstance(expected, (tuple, list)):
        if len(got) != len(expected):
            return f"{place} has {len(got)} entries instead of {len(expected)}"
        parts = [
            (a, b, f"{place}[{i}]") for i, (a, b) in enumerate(zip(got, expected, strict=True))
        ]
    else:
        return "" if got == expected else f"{place} is {got!r} instead of {expected!r}"
    return next((found for part in parts if (found := different(*part))), "")


def constants(devices: int) -> list[str]:
    """What the replicas got for inputs that are no tensors, where that is not what was given."""
    given = {
        "flag": True,
        "name": "train",
        "nothing": None,
        "empty": (),
        "no entries": {},
        "size": 3,
    }
    probe = Probe()
    data_parallel()(probe, where(devices), torch.randn(2 * devices, WIDTH), given, **given)
    if len(probe.seen) != devices:
        return [f"{len(probe.seen)} replicas ran on {devices} devices"]
    return [
        f"{name!r} arrives as {got.get(name)!r}"
        for entry in probe.seen
        for got in (entry.kwargs, entry.args[1])
        for name, value in given.items()
        if got.get(name, "missing") != value
    ]


def only_by_name(devices: int) -> float:
    """How far the output is from that of the model alone where the batch has only named tensors, as BERT's has."""
    model, inputs = Small(seed=0), batch(0, 0, size=2 * devices)[0]
    return furthest([data_parallel()(model, where(devices), x=inputs)], [model(inputs)])


# -- the loss inside forward -------------------------------------------------------------------------------------------


class Classifier(nn.Module):
    """Logits of three classes for each sample, or for each of its `tokens`."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(WIDTH, 3)

    def forward(self, x: Tensor) -> SimpleNamespace:
        """As a Hugging Face model returns them."""
        return SimpleNamespace(logits=self.layer(x))


def labelled(samples: int, tokens: int, ignored: int) -> dict[str, Tensor]:
    """A batch of `samples`, with `tokens` labels each (0: a single one), of which the first `ignored` do not count."""
    draw = torch.Generator().manual_seed(samples + 10 * tokens)
    shape = (samples, tokens) if tokens else (samples,)
    labels = torch.randint(3, shape, generator=draw)
    labels.view(-1)[:ignored] = -100
    return {"x": torch.randn(*shape, WIDTH, generator=draw), "labels": labels}


def gathered(model: nn.Module, whole: dict[str, Tensor], devices: int) -> object:
    """What the replicas of `model` return for their shares, each number in a vector: the four primitives in short."""
    columns = [tensor.chunk(devices) for tensor in whole.values()]
    outputs = [
        model(**dict(zip(whole, share, strict=True))) for share in zip(*columns, strict=True)
    ]
    return _join(outputs)


def _join(outputs: list) -> object:
    first = outputs[0]
    if isinstance(first, dict):
        return type(first)((name, _join([output[name] for output in outputs])) for name in first)
    if isinstance(first, (tuple, list)):
        return type(first)(_join(list(parts)) for parts in zip(*outputs, strict=True))
    if isinstance(first, Tensor):
        return torch.cat([output.reshape(output.shape or (1,)) for output in outputs])
    raise AssertionError(f"forward returns {shown(first)}; what is gathered must be tensors")


def losses(cases: list[tuple[int, int, int, int]]) -> list[tuple[float, float]]:
    """For each (samples, tokens, ignored labels, devices): how far loss and gradients are from the model's alone."""
    script, off = importlib.import_module("loss_inside"), []
    for samples, tokens, ignored, devices in cases:
        model, alone, whole = Classifier(), Classifier(), labelled(samples, tokens, ignored)
        loss = script.mean_loss(gathered(script.WithLoss(model), whole, devices))
        expected = nn.functional.cross_entropy(
            alone(whole["x"]).logits.flatten(0, -2), whole["labels"].flatten()
        )
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            raise AssertionError(
                f"mean_loss returns {shown(loss)} instead of one number in a tensor"
            )
        if not loss.requires_grad:
            raise AssertionError("the loss has no gradient")
        loss.backward()
        expected.backward()
        apart = float((loss - expected).abs())
        off.append((apart, furthest(gradients(model), gradients(alone))))
    return off


def numbers(samples: int, tokens: int) -> int:
    """How many numbers a device returns."""
    script = importlib.import_module("loss_inside")
    return _count(script.WithLoss(Classifier())(**labelled(samples, tokens, 0)))


def _count(value: object) -> int:
    if isinstance(value, Tensor):
        return value.numel()
    return sum(map(_count, value.values() if isinstance(value, dict) else value))
