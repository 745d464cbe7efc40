"""For `right --deep`: does one process compute the same gradients from the batches of all ranks?

A script can be compared if the mean of the ranks' own gradients equals the gradient of one process,
up to a factor. Anything else that makes the two runs differ, such as batch norm or noise, prevents
the comparison and is never a fault.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from course.diagnostics.finding import Finding
from course.diagnostics.numerics.training import (
    KEPT_BATCHES,
    OptimizerReport,
    OptimizerStep,
    TrainingReport,
)
from course.diagnostics.right import causes, table
from course.diagnostics.right.evidence import NO_STEP, Evidence
from course.diagnostics.right.gradient_kinds import OWN, fit_multiple
from course.diagnostics.right.optimizer_on_ranks import OptimizerOnRanks
from course.diagnostics.right.rules import gradients, losses
from course.diagnostics.right.rules.losses import near
from course.diagnostics.right.table import DIFFERS, EQUAL, NOT_SEEN, Row, shorten
from course.diagnostics.right.thresholds import CLOSER, ROUNDING_16_BIT, ROUNDING_OF_ZERO, UNEVEN

STEPS = 2  # watched steps, of which only the first is judged


@dataclass(frozen=True)
class Difference:
    """The ranks' gradient of a parameter: `times` one process's, at a relative `difference`."""

    name: str
    times: float
    difference: float


@dataclass(frozen=True)
class DeepOutcome:
    """The row, its findings, and the parameters that have a gradient, largest difference first."""

    row: Row
    findings: list[Finding] = field(default_factory=list)
    parameters: list[Difference] = field(default_factory=list)


def hindrance(ranks: Sequence[TrainingReport], batches: int) -> str:
    """Why no run on one process can be compared with these ranks; "" if one can.

    `batches` is the number of batches that the ranks saved.
    """
    evidence = Evidence(ranks)
    if not evidence.step_count:
        return f"{NO_STEP} on all ranks"
    samples = [optimizer.sampled_steps for optimizer in evidence.optimizers]
    is_first_sampled = all(steps and steps[0][0] == 1 for steps in samples)
    if evidence.why_split or evidence.is_sharded or not is_first_sampled:
        return gradients.why_no_gradients(evidence)
    if not all(optimizer.starts_equal for optimizer in evidence.optimizers):
        return "the ranks begin with different weights, which `right` without --deep judges"
    if why := evidence.unseen(KEPT_BATCHES):
        return why
    return "" if batches else "the batches do not come from a DataLoader, so they cannot be stacked"


def compare(ranks: Sequence[TrainingReport], alone: TrainingReport) -> DeepOutcome:
    """Compare the ranks' gradients in the first step with those of one process, `alone`."""
    evidence = Evidence(ranks)
    pairs = list(zip(evidence.optimizers, alone.optimizers, strict=False))
    if not pairs or any(o.counts != c.on_rank[0].counts or not o.is_sampled for c, o in pairs):
        return not_compared("the script has other parameters or no gradients on one process")
    outcomes = [_Pair(evidence, on_ranks, report, alone).outcome() for on_ranks, report in pairs]
    order = [DIFFERS, NOT_SEEN, EQUAL]
    first = min(
        outcomes, key=lambda outcome: (not outcome.findings, order.index(outcome.row.state))
    )
    parameters = [parameter for outcome in outcomes for parameter in outcome.parameters]
    return DeepOutcome(
        first.row, first.findings, sorted(parameters, key=lambda parameter: -parameter.difference)
    )


def not_compared(why: str) -> DeepOutcome:
    """The outcome of a comparison that is not possible, with the reason."""
    return DeepOutcome(Row(table.ONE, NOT_SEEN, f"not compared: {why}"))


class _Pair:
    """The same optimizer on all ranks and on one process."""

    def __init__(
        self,
        evidence: Evidence,
        ranks: OptimizerOnRanks,
        report: OptimizerReport,
        alone: TrainingReport,
    ) -> None:
        self._evidence, self._ranks, self._alone = evidence, ranks, alone
        self._one_optimizer = OptimizerOnRanks([report])
        self._on_ranks, self._step = ranks.steps[0], report.watched[0]
        self._passes = [backward_pass for step in self._on_ranks for backward_pass in step.passes]
        clips = any(step.clips for step in self._on_ranks) or any(p.scaled for p in self._passes)
        # Clipping and scaling depend on the size of a gradient, so compare what came before them.
        self._moment = "first" if clips else "used"
        self._own = ranks.samples(self._on_ranks, "own")
        self._used, self._one = self._gradients(0)

    def _gradients(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The gradients that the ranks use in a step (from 0), and those of one process."""
        used, one = (
            optimizer.samples(optimizer.steps[number], self._moment)
            for optimizer in (self._ranks, self._one_optimizer)
        )
        return used, one[0]

    def outcome(self) -> DeepOutcome:
        """Compare the two, and return the outcome."""
        mean = self._own.mean(0)
        if not all(np.isfinite(values).all() for values in (self._own, self._used, self._one)):
            return not_compared("the gradients of the first step are not finite")
        if not self._one.any() or not mean.any():
            return not_compared("the gradients of the first step are zero")
        if self._step.before != self._on_ranks[0].before:
            return not_compared(
                "one process begins with other weights than the ranks, and none are copied to it"
            )
        if len({len(step.passes) for step in (*self._on_ranks, self._step)}) > 1:
            return not_compared("a step has other backward passes on one process")
        scale, residual = fit_multiple(mean, self._one)
        if outcome := self._mean_of_means(mean, residual):
            return outcome
        if residual > ROUNDING_16_BIT:
            return not_compared(self._why_different(residual))
        return self._compare_used(scale)

    # -- the mean of the ranks' own gradients differs from one process's ---------------------------

    def _mean_of_means(self, mean: np.ndarray, residual: float) -> DeepOutcome | None:
        """Find that one process uses the mean over all targets, and the ranks the mean of means."""
        by_rank = [step.passes for step in self._on_ranks]
        if any(len(passes) != 1 or len(passes[0].parts) != 1 for passes in by_rank):
            return None
        terms = [passes[0].parts[0].terms for passes in by_rank]
        if min(terms) < 1 or min(terms) == max(terms):
            return None
        weighted = np.average(self._own, axis=0, weights=terms)
        _, weighted_residual = fit_multiple(weighted, self._one)
        _, used_residual = fit_multiple(self._used[0], mean)
        if max(weighted_residual, used_residual) > ROUNDING_16_BIT:
            return None
        if weighted_residual > residual / CLOSER:
            return None
        counts = self._evidence.by_rank(terms)
        by = f"by {100 * residual:.1f} %"
        says = f"{by}: each rank divides by its own number of targets ({counts})"
        row = Row(table.ONE, DIFFERS, says)
        if not all(map(_is_uneven, self._ranks.steps)):  # it may be chance
            return DeepOutcome(row, [], self._differences())
        finding = causes.MEAN_OF_MEANS.finding(
            f"One process on the same samples has the mean over all targets, the ranks have the "
            f"mean of their means ({counts}): their gradients differ from it {by}.",
            step=1,
            where=by_rank[0][0].called or by_rank[0][0].line,
        )
        return DeepOutcome(row, [finding], self._differences())

    def _why_different(self, residual: float) -> str:
        return self._known_reason() or (
            f"one process's gradient is {100 * residual:.0f} % from the mean of the ranks' own. "
            "The loss may depend on a batch as a whole, or on random numbers"
        )

    def _known_reason(self) -> str:
        """A reason why one process may compute another gradient; "" if none was seen."""
        if why := self._alone.unseen.get(KEPT_BATCHES):
            return why
        if any(report.batch_norm for report in self._evidence.reports):
            return "batch norm uses the statistics of each rank's own batch"
        passes, one = self._passes, self._step.passes
        if any(backward_pass.noise for backward_pass in (*passes, *one)):
            return "the model draws random numbers that are no dropout"
        samples = {mark for backward_pass in passes for mark in backward_pass.samples}
        if any(mark not in samples for backward_pass in one for mark in backward_pass.samples):
            return (
                "the model is called with other samples on one process: they do not come from a "
                "DataLoader alone"
            )
        return ""

    # -- it is the same as one process's, up to a factor -------------------------------------------

    def _compare_used(self, scale: float) -> DeepOutcome:
        """Compare the gradients that the ranks use, now that their own fit those of one process.

        `scale` times one process's gradient is the mean of the ranks' own.
        """
        differences = self._differences()
        differing = [p for p in differences if p.difference > ROUNDING_16_BIT]
        largest = max(parameter.difference for parameter in differences)
        if not differing:
            says = f"the same gradients, up to {largest:.0e} of their size{self._second_step()}"
            return DeepOutcome(Row(table.ONE, EQUAL, says), [], differences)
        names = shorten([parameter.name for parameter in differing])
        times = differing[0].times
        count = self._evidence.world_size
        alike = all(near(parameter.times, times) for parameter in differing)
        if any(kind.name == OWN for kind in self._ranks.kinds[0].used):
            findings = self._not_averaged()
            why = "" if findings else "; `right` without --deep judges that, over more steps"
            says = f"each rank uses its own gradient of {names}{why}"
            return DeepOutcome(Row(table.ONE, DIFFERS, says), findings, differences)
        says = f"{times:.3f} times one process's: {names}" if alike else f"unlike: {names}"
        if not alike or not any(near(times, factor) for factor in (count, 1 / count)):
            why = f"{self._known_reason() or 'why is not known'}, so this is not judged"
            return DeepOutcome(Row(table.ONE, DIFFERS, f"{says}; {why}"), [], differences)
        if why := self._why_by_design(scale):
            return DeepOutcome(Row(table.ONE, DIFFERS, f"{says}; {why}"), [], differences)
        return DeepOutcome(Row(table.ONE, DIFFERS, says), [self._factor(times, scale)], differences)

    def _not_averaged(self) -> list[Finding]:
        """The findings of `right` on gradients that are not averaged, if the call bypasses DDP.

        Otherwise two steps are too few to decide. The ranks may average their weights later, or
        hold different parts of a model, which are equal at the start only because of our seed.
        """
        if not any(backward_pass.bypassed for backward_pass in self._passes):
            return []
        found = gradients.averaged(self._evidence)
        return [finding for finding in found if isinstance(finding, Finding)]

    def _why_by_design(self, scale: float) -> str:
        """Why a factor of N or 1/N may be intended; "" if it cannot be.

        If the ranks' own gradients equal those of one process, the loss is a mean, and the step
        that combines the gradients must have multiplied them. Otherwise, the factor is a fault only
        if the loss is a mean on one process: a sum, or a loss that is divided by a fixed number,
        grows with the batch.
        """
        if self._on_ranks[0].rates != self._step.rates:
            return "the learning rate also depends on the number of ranks, so this is not judged"
        if near(scale, 1):
            return ""
        first = self._evidence.reports[0]
        if first.sends.get("forward") or (first.wrapped and first.sends.get("between")):
            return "the ranks exchange more than gradients, so this is not judged"
        total = losses.sum_of_weights(self._step)
        if not total:
            return f"{losses.UNREAD}, so this is not judged"
        if near(total, 1):
            return ""
        return "the loss is not a mean over a batch, so this is not judged"

    def _factor(self, times: float, scale: float) -> Finding:
        count, last = self._evidence.world_size, self._on_ranks[0].passes[-1]
        large = times > 1
        how = f"{count} times" if large else f"1/{count} of"
        return causes.FACTOR.finding(
            f"The gradients on {count} ranks are {how} those of one process on the same samples.",
            losses.DIVIDE if large else losses.DIVIDE_ONCE,
            step=1,
            where=self._on_ranks[0].line if near(scale, 1) else last.line,
        )

    def _second_step(self) -> str:
        """A clause on the second step, which also depends on what the optimizer did; "" if none."""
        rates, one_rates = self._on_ranks[0].rates, self._step.rates
        if rates != one_rates:
            return f"; the learning rate is {rates[0]:g}, and {one_rates[0]:g} on one process"
        steps = self._ranks.sampled_steps, self._one_optimizer.steps
        if min(map(len, steps)) < STEPS:
            return ""
        used, one = self._gradients(1)
        difference = float(np.linalg.norm(used - one, axis=1).max() / np.linalg.norm(one))
        return f", and after a step of the optimizer up to {difference:.0e}"

    # -- each parameter ----------------------------------------------------------------------------

    def _differences(self) -> list[Difference]:
        """The differences of all parameters whose gradient is more than rounding error."""
        parts = zip(
            self._ranks.names, self._ranks.parts(self._used), self._ranks.parts(self._one),
            strict=True,
        )  # fmt: skip
        least = ROUNDING_OF_ZERO * float(np.abs(self._one).max())
        differences = []
        for name, used, one in parts:
            size = float(np.linalg.norm(one))
            if one.size and np.abs(one).max() > least:
                distance = float(np.linalg.norm(used - one, axis=1).max())
                differences.append(Difference(name, fit_multiple(used[0], one)[0], distance / size))
        return differences


def _is_uneven(step_on_ranks: Sequence[OptimizerStep]) -> bool:
    passes = [backward_pass for step in step_on_ranks for backward_pass in step.passes]
    terms = [backward_pass.parts[0].terms for backward_pass in passes if backward_pass.parts]
    return bool(terms) and max(terms) > UNEVEN * min(terms)
