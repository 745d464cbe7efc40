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
WHOLE, EACH = 3, 5  # gradients are sampled in the first 3 steps, and then in every fifth
NO_SETTINGS = ("params", "lr", "param_names", "initial_lr")


@dataclass
class OptimizerProbe:
    """An optimizer of the script, its parameters in order, and the records since its last step."""

    optimizer: Any
    report: OptimizerReport
    parameters: list[nn.Parameter] = field(default_factory=list)
    identities: frozenset[int] = frozenset()  # of the parameters
    share: int = 0  # how many values of each tensor are sampled
    # Each gradient that a parameter got: the parameter's place, samples of the gradient, and
    # samples of the gradient that was there before.
    entries: list[tuple[int, Tensor, Tensor | None]] = field(default_factory=list)
    # Each call of the script's hooks: the parameter's place, the line, the gradient before, after.
    hooked: list[tuple[int, str, Tensor, Tensor]] = field(default_factory=list)
    got: set[int] = field(default_factory=set)  # the parameters that got a gradient, by identity
    first: tuple[Tensor, list[int]] | None = None
    passes: list[BackwardPass] = field(default_factory=list)
    clips: list[str] = field(default_factory=list)
    early_clip: str = ""
    positive: bool = False  # whether its rate has been above 0
    before: Tensor | None = None
    used: tuple[Tensor, list[int]] | None = None
    places: list[int] = field(default_factory=list)  # addresses of its parameters
    views: list[Tensor] = field(default_factory=list)  # sampled values, made once per address
    inside: bool = False  # whether it is taking a step
    closure: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the gradients of the coming step are sampled."""
        number = self.report.steps + 1
        return number <= WHOLE or number % EACH == 0

    def settle(
        self, name_of: Callable[[nn.Parameter], str], made: Callable[[nn.Parameter], str]
    ) -> None:
        """Note the optimizer's parameters, if their number has changed.

        `name_of` returns a parameter's name, and `made` the line that made it.
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
        report.made = [made(parameter) for parameter in parameters]
        report.shapes = [str(list(parameter.shape)) for parameter in parameters]
        report.counts = [tensor_samples.size(parameter, self.share) for parameter in parameters]
        report.sharded = any(hasattr(parameter, "to_local") for parameter in parameters)
        report.frozen = not any(parameter.requires_grad for parameter in parameters)

    def gradients(self) -> tuple[Tensor, list[int]]:
        """Samples of all current gradients, and the number of each; 0 for a missing gradient."""
        grads = [parameter.grad for parameter in self.parameters]
        samples = [tensor_samples.copied(grad, self.share) for grad in grads if grad is not None]
        sizes = iter([sample.numel() for sample in samples])
        return tensor_samples.together(samples), [
            0 if grad is None else next(sizes) for grad in grads
        ]

    def weights(self) -> Tensor:
        """Samples of all current weights."""
        if self.report.sharded:
            views = [tensor_samples.values(parameter, self.share) for parameter in self.parameters]
            return tensor_samples.together(views)
        at = [parameter.data_ptr() for parameter in self.parameters]
        if at != self.places:
            self.places = at
            self.views = [
                tensor_samples.values(parameter, self.share) for parameter in self.parameters
            ]
        return tensor_samples.together(self.views)

    def look_first(self) -> None:
        """Sample the gradients before they are first unscaled, clipped or used."""
        if self.first is None and self.is_whole and self.entries:
            self.first = self.gradients()

    def settings(self) -> tuple[list[float], str]:
        """The learning rate of each parameter group, and all other settings as text."""
        groups = self.optimizer.param_groups
        rates = [float(group.get("lr", 0.0)) for group in groups]
        rest = [
            sorted((key, str(value)) for key, value in group.items()
                   if key not in NO_SETTINGS and _plain(value))
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


def spread(flat: np.ndarray, sizes: list[int], counts: list[int]) -> np.ndarray:
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


def finish(probe: OptimizerProbe, step: OptimizerStep) -> None:
    """Fill in the report of a step: copy each kind of samples from the device at once."""
    counts = probe.report.counts
    if probe.before is not None:
        step.before = tensor_samples.checksums(probe.before.cpu().numpy(), counts)
    after = probe.weights().cpu().numpy()
    step.after = tensor_samples.checksums(after, counts)
    step.finite = bool(np.isfinite(after).all())
    if probe.used is None:
        return
    step.got = [id(parameter) in probe.got for parameter in probe.parameters]
    if probe.report.sharded and probe.first is not None:
        first, used = (pair[0].cpu().numpy() for pair in (probe.first, probe.used))
        square = float(first @ first)
        step.scale = float(used @ first) / square if square and len(used) == len(first) else 0.0
    if not probe.entries:
        return
    gradients = step.gradients
    gradients.entries = [
        (place, new.numel(), 0 if old is None else old.numel()) for place, new, old in probe.entries
    ]
    parts = [gradient for entry in probe.entries for gradient in entry[1:] if gradient is not None]
    gradients.keep("entries", tensor_samples.together(parts).cpu().numpy())
    for name, (flat, sizes) in (("first", probe.first or probe.used), ("used", probe.used)):
        gradients.keep(name, spread(flat.cpu().numpy(), sizes, counts))
    if probe.hooked:
        gradients.hooked = [(place, new.numel(), line) for place, line, new, _ in probe.hooked]
        parts = [gradient for hook in probe.hooked for gradient in hook[2:]]
        gradients.keep("hooked", tensor_samples.together(parts).cpu().numpy())
    parameters = map(tensor_samples.local, probe.parameters)
    norms = [torch.linalg.vector_norm(parameter, dtype=torch.float32) for parameter in parameters]
    step.norms = torch.stack(norms).cpu().tolist()


def _plain(value: object) -> bool:
    return isinstance(value, (int, float, str, bool, tuple)) or (
        isinstance(value, Tensor) and value.numel() == 1
    )


class GradientProbes:
    """Hooks on parameters that note which of them get a gradient.

    `got` has the identities of those that did. `see` gets the gradients, but only while `looks` is
    true: the hooks run once per parameter and pass, so they must cost next to nothing.
    """

    def __init__(self, see: Callable[[nn.Parameter, Tensor], None]) -> None:
        self._see = see
        self.got: set[int] = set()
        self.looks = False
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
            if self.looks and (weight := ref()) is not None:
                self._see(weight, gradient)

        return hook

    def remove(self) -> None:
        """Remove all hooks."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
