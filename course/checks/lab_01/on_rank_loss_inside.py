"""What the checks of loss_inside do: run it on shares of a batch, and bring back what it did."""

import importlib
from types import SimpleNamespace

import torch
from torch import Tensor, nn

from course.checks.lab_01.on_rank_values import gradients, in_words
from course.checks.tools.loose_ends import describe_leaks
from course.checks.tools.reference import CLOSE, WIDTH, furthest


class Classifier(nn.Module):
    """Logits of three classes for each sample, or for each of its `tokens`."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(WIDTH, 3)

    def forward(self, x: Tensor, attention_mask: Tensor) -> SimpleNamespace:
        """Return the logits as a Hugging Face model does; the mask changes nothing here."""
        return SimpleNamespace(logits=self.layer(x))


def labelled(samples: int, tokens: int, ignored: int) -> dict[str, Tensor]:
    """A batch of `samples`, with `tokens` labels each (0: a single one).

    The first `ignored` labels do not count. The mask is for five tokens of each sample, whatever
    has a label.
    """
    draw = torch.Generator().manual_seed(samples + 10 * tokens)
    shape = (samples, tokens) if tokens else (samples,)
    labels = torch.randint(3, shape, generator=draw)
    labels.view(-1)[:ignored] = -100
    x = torch.randn(*shape, WIDTH, generator=draw)
    return {"x": x, "attention_mask": torch.ones(samples, 5), "labels": labels}


def gathered(model: nn.Module, whole: dict[str, Tensor], devices: int) -> object:
    """What replicas of `model` return for their shares of a batch: the four primitives in short.

    A number becomes a vector of one element.
    """
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
    raise AssertionError(f"forward returns {in_words(first)}; what is gathered must be tensors")


def losses(cases: list[tuple[int, int, int, int]]) -> list[tuple[float, float]]:
    """How far loss and gradients are from those of the model alone.

    Each case is (samples, tokens, ignored labels, devices).
    """
    off = []
    for samples, tokens, ignored, devices in cases:
        model, alone, whole = Classifier(), Classifier(), labelled(samples, tokens, ignored)
        loss, expected = _mean(model, whole, devices), _mean_alone(alone, whole)
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            raise AssertionError(
                f"mean_loss returns {in_words(loss)} instead of one number in a tensor"
            )
        if not loss.requires_grad:
            raise AssertionError("the loss has no gradient")
        loss.backward()
        expected.backward()
        apart = float((loss - expected).abs())
        off.append((apart, furthest(gradients(model), gradients(alone))))
    return off


def large() -> tuple[float, float]:
    """How far the loss of 5005 labels, in the hundreds, and its gradients are off, relatively."""
    model, alone, whole = Classifier().double(), Classifier().double(), labelled(5, 1001, 2)
    whole["x"] = 1000 * whole["x"].double()
    loss, expected = _mean(model, whole, 2), _mean_alone(alone, whole)
    loss.backward()
    expected.backward()
    scale = float(alone.layer.weight.grad.abs().max())
    apart = furthest(gradients(model), gradients(alone)) / scale
    return float((loss / expected - 1).abs()), apart


def diverged() -> float:
    """The loss of a batch in which the logits of one sample are NaN."""
    whole = labelled(5, 0, 0)
    whole["x"][1] = torch.nan
    return float(_mean(Classifier(), whole, 2))


def left_alone() -> str:
    """Report what a module with its loss inside keeps, or confuses, from one batch to another."""
    script, model = importlib.import_module("loss_inside"), Classifier()
    with_loss = script.WithLoss(model)
    batches = [labelled(samples, 0, 1) for samples in (5, 7)]
    parts = [gathered(with_loss, whole, 2) for whole in batches]
    for whole, part in zip(batches, parts, strict=True):
        if float((script.mean_loss(part) - _mean_alone(model, whole)).abs()) > CLOSE:
            return "of two batches, one after the other, the first gets another loss"
    for training in (True, False):
        with_loss.train(training)
        script.mean_loss(gathered(with_loss, batches[0], 2))
        if model.training != training:
            return f"the model's `training` was {training}, and forward has changed it"
    return describe_leaks(lambda: script.mean_loss(gathered(with_loss, batches[0], 2)))


def _mean(model: nn.Module, whole: dict[str, Tensor], devices: int) -> Tensor:
    """The learner's loss of a whole batch."""
    script = importlib.import_module("loss_inside")
    return script.mean_loss(gathered(script.WithLoss(model), whole, devices))


def _mean_alone(model: nn.Module, whole: dict[str, Tensor]) -> Tensor:
    """The loss that the model has alone."""
    logits = model(whole["x"], whole["attention_mask"]).logits.flatten(0, -2)
    return nn.functional.cross_entropy(logits, whole["labels"].flatten())


def numbers(samples: int, tokens: int) -> tuple[int, bool]:
    """How many numbers a device returns, and whether one of them is a tensor without dimensions."""
    script = importlib.import_module("loss_inside")
    tensors = _tensors(script.WithLoss(Classifier())(**labelled(samples, tokens, 0)))
    return sum(tensor.numel() for tensor in tensors), any(not tensor.dim() for tensor in tensors)


def _tensors(value: object) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value
    return [tensor for part in parts for tensor in _tensors(part)]
