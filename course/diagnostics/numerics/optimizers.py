"""On a rank: watch the script's optimizers, and the gradients that its parameters get."""

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from course.diagnostics.numerics import tensor_samples
from course.diagnostics.numerics.training import BackwardPass, OptimizerReport, OptimizerStep

REGISTER = Tensor.register_hook  # torch's own, before `UserHooks` replaces it
SAMPLED_FIRST, SAMPLED_EVERY = 3, 5  # gradients are sampled in steps 1 to 3, and in every fifth
NO_SETTINGS = ("params", "lr", "param_names", "initial_lr")


@dataclass
class OptimizerProbe:
    """An optimizer of the script, its parameters in order, and the records since its last step."""

    optimizer: Any
    report: OptimizerReport
    parameters: list[nn.Parameter] = field(default_factory=list)
    identities: frozenset[int] = frozenset()  # of the parameters
    share: int = 0  # how many values of each tensor are sampled
    # Each gradient that a parameter got: the parameter's index, samples of the gradient, and
    # samples of the gradient that was there before.
    entries: list[tuple[int, Tensor, Tensor | None]] = field(default_factory=list)
    # Each call of the script's hooks: the parameter's index, the line, the gradient before, after.
    hooked: list[tuple[int, str, Tensor, Tensor]] = field(default_factory=list)
    got: set[int] = field(default_factory=set)  # the parameters that got a gradient, by identity
    first: tuple[Tensor, list[int]] | None = None
    passes: list[BackwardPass] = field(default_factory=list)
    clips: list[str] = field(default_factory=list)
    early_clip: str = ""
    had_positive_rate: bool = False
    before: Tensor | None = None
    used: tuple[Tensor, list[int]] | None = None
    addresses: list[int] = field(default_factory=list)  # of its parameters
    views: list[Tensor] = field(default_factory=list)  # sampled values, made once per address
    in_step: bool = False  # whether it is taking a step
    closure: bool = False

    @property
    def is_sampled(self) -> bool:
        """Whether the gradients of the coming step are sampled."""
        number = self.report.steps + 1
        return number <= SAMPLED_FIRST or number % SAMPLED_EVERY == 0

    def refresh(
        self, name_of: Callable[[nn.Parameter], str], made_at: Callable[[nn.Parameter], str]
    ) -> None:
        """Note the optimizer's parameters, if their number has changed.

        `name_of` returns a parameter's name, and `made_at` the line that made it.
        """
        parameters = [
            parameter for group in self.optimizer.param_groups for parameter in group["params"]
        ]
        if len(parameters) == len(self.parameters):
            return
        self.parameters, self.identities = parameters, frozenset(map(id, parameters))
        self.share = tensor_samples.share(len(parameters))
        report = self.report
        report.names = [name_of(parameter) for parameter in parameters]
        report.made = [made_at(parameter) for parameter in parameters]
        report.shapes = [str(list(parameter.shape)) for parameter in parameters]
        report.counts = [tensor_samples.size(parameter, self.share) for parameter in parameters]
        report.sharded = any(hasattr(parameter, "to_local") for parameter in parameters)
        report.frozen = not any(parameter.requires_grad for parameter in parameters)

    def gradients(self) -> tuple[Tensor, list[int]]:
        """Samples of all current gradients, and the number of each; 0 for a missing gradient."""
        samples = [
            None
            if parameter.grad is None
            else tensor_samples.copy_values(parameter.grad, self.share)
            for parameter in self.parameters
        ]
        existing = [sample for sample in samples if sample is not None]
        sizes = [0 if sample is None else sample.numel() for sample in samples]
        return tensor_samples.concatenate(existing), sizes

    def weights(self) -> Tensor:
        """Samples of all current weights."""
        if self.report.sharded:
            views = [tensor_samples.values(parameter, self.share) for parameter in self.parameters]
            return tensor_samples.concatenate(views)
        addresses = [parameter.data_ptr() for parameter in self.parameters]
        if addresses != self.addresses:
            self.addresses = addresses
            self.views = [
                tensor_samples.values(parameter, self.share) for parameter in self.parameters
            ]
        return tensor_samples.concatenate(self.views)

    def sample_first(self) -> None:
        """Sample the gradients before they are first unscaled, clipped or used."""
        if self.first is None and self.is_sampled and self.entries:
            self.first = self.gradients()

    def settings(self) -> tuple[list[float], str]:
        """The learning rate of each parameter group, and all other settings as text."""
        groups = self.optimizer.param_groups
        rates = [float(group.get("lr", 0.0)) for group in groups]
        rest = [
            sorted((key, str(value)) for key, value in group.items()
                   if key not in NO_SETTINGS and _is_plain(value))
            for group in groups
        ]  # fmt: skip
        return rates, "; ".join(", ".join(f"{k}={v}" for k, v in group) for group in rest)

    def clear(self) -> None:
        """Forget this step, because the next one begins."""
        self.entries = []
        self.hooked = []
        self.got = set()
        self.passes = []
        self.clips = []
        self.first = self.used = self.before = None
        self.early_clip, self.closure = "", False


def fill_missing(flat: np.ndarray, sizes: list[int], counts: list[int]) -> np.ndarray:
    """The samples of all gradients in a row, with zeros for missing ones.

    `sizes` are the numbers of samples in `flat`, and `counts` those of all parameters.
    """
    if sizes == counts:
        return flat
    parts: list[np.ndarray] = []
    start = 0
    for size, count in zip(sizes, counts, strict=True):
        part = flat[start : start + size]
        parts.append(part if size == count else np.zeros(count, np.float32))
        start += size
    return np.concatenate(parts)


def fill_in_step(probe: OptimizerProbe, step: OptimizerStep) -> None:
    """Fill in the report of a step: copy each kind of samples from the device at once."""
    counts = probe.report.counts
    if probe.before is not None:
        step.before = tensor_samples.checksums(probe.before.cpu().numpy(), counts)
    after = probe.weights().cpu().numpy()
    step.after = tensor_samples.checksums(after, counts)
    step.finite = bool(np.isfinite(after).all())
    if probe.used is None:
        return
    step.has_gradient = [id(parameter) in probe.got for parameter in probe.parameters]
    if probe.report.sharded and probe.first is not None:
        first, used = (pair[0].cpu().numpy() for pair in (probe.first, probe.used))
        square = float(first @ first)
        step.scale = float(used @ first) / square if square and len(used) == len(first) else 0.0
    if not probe.entries:
        return
    gradients = step.gradients
    gradients.entries = [
        (param_index, new.numel(), 0 if old is None else old.numel())
        for param_index, new, old in probe.entries
    ]
    parts = [gradient for entry in probe.entries for gradient in entry[1:] if gradient is not None]
    gradients.keep("entries", tensor_samples.concatenate(parts).cpu().numpy())
    for name, (flat, sizes) in (("first", probe.first or probe.used), ("used", probe.used)):
        gradients.keep(name, fill_missing(flat.cpu().numpy(), sizes, counts))
    if probe.hooked:
        gradients.hooked = [
            (param_index, new.numel(), line) for param_index, line, new, _ in probe.hooked
        ]
        parts = [gradient for hook in probe.hooked for gradient in hook[2:]]
        gradients.keep("hooked", tensor_samples.concatenate(parts).cpu().numpy())
    parameters = map(tensor_samples.local_part, probe.parameters)
    norms = [torch.linalg.vector_norm(parameter, dtype=torch.float32) for parameter in parameters]
    step.norms = torch.stack(norms).cpu().tolist()


def _is_plain(value: object) -> bool:
    return isinstance(value, (int, float, str, bool, tuple)) or (
        isinstance(value, Tensor) and value.numel() == 1
    )


class GradientProbes:
    """Hooks on parameters that note which of them get a gradient.

    `got` has the identities of those that did. `on_gradient` gets the gradients, but only while
    `reads` is true: the hooks run once per parameter and pass, so they must cost next to nothing.
    """

    def __init__(self, on_gradient: Callable[[nn.Parameter, Tensor], None]) -> None:
        self._on_gradient = on_gradient
        self.got: set[int] = set()
        self.reads = False
        self._known: dict[int, weakref.ref[nn.Parameter]] = {}
        self._frozen: list[weakref.ref[nn.Parameter]] = []
        self._handles: list[Any] = []

    def add(self, parameters: Iterable[nn.Parameter]) -> None:
        """Watch these parameters too; frozen ones wait for `add_thawed`."""
        for parameter in parameters:
            ref = self._known.get(id(parameter))
            if ref is not None and ref() is parameter:
                continue
            if parameter.requires_grad:
                self._known[id(parameter)] = weakref.ref(parameter)
                self._handles.append(REGISTER(parameter, self._hook(parameter)))
            else:
                self._frozen.append(weakref.ref(parameter))

    def add_thawed(self) -> None:
        """Watch the parameters that were frozen and no longer are."""
        frozen = self._frozen
        self._frozen = []
        self.add(parameter for ref in frozen if (parameter := ref()) is not None)

    def _hook(self, parameter: nn.Parameter) -> Callable[[Tensor], None]:
        ref, key = weakref.ref(parameter), id(parameter)

        def hook(gradient: Tensor) -> None:
            self.got.add(key)
            if self.reads and (weight := ref()) is not None:
                self._on_gradient(weight, gradient)

        return hook

    def remove(self) -> None:
        """Remove all hooks."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
