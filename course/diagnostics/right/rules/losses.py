"""Rules on how much each target counts in the gradient, as the graphs of the losses show."""

from statistics import median_high

from course.diagnostics.finding import Finding
from course.diagnostics.numerics.training import BackwardPass, LossTerm, OptimizerStep
from course.diagnostics.right import causes, table
from course.diagnostics.right.evidence import NO_STEP, Evidence
from course.diagnostics.right.gradient_kinds import MEAN, OTHER
from course.diagnostics.right.optimizer_on_ranks import OptimizerOnRanks
from course.diagnostics.right.table import DIFFERS, EQUAL, NOT_SEEN, Result, Row, Rule
from course.diagnostics.right.thresholds import ALIKE, FACTOR, MAJORITY, UNEVEN

UNREAD = "the losses could not be read, or their parts do not agree"
DIVIDE = "Divide by the world size after the all-reduce, or divide the loss by it."
DIVIDE_ONCE = "Divide once: DDP and ReduceOp.AVG do it already."


def targets(evidence: Evidence) -> Result:
    """Does each target count as much as any other, and do the gradients have the right scale?"""
    optimizer = next((candidate for candidate in evidence.optimizers if candidate.steps), None)
    if optimizer is None or evidence.why_split:
        return [Row(table.TARGET, NOT_SEEN, evidence.why_split or NO_STEP)]
    if not evidence.is_sharded and not (optimizer.mostly(MEAN) or optimizer.mostly(OTHER)):
        return [Row(table.TARGET, NOT_SEEN, "the gradients were not seen to be averaged")]
    if finding := _factor(evidence, optimizer):
        return [Row(table.TARGET, DIFFERS, finding.says), finding]
    several = evidence.first_training_pass is not None
    weights = [
        (n, _weights(step_on_ranks, several)) for n, step_on_ranks in enumerate(optimizer.steps, 1)
    ]
    weights = [(n, lists) for n, lists in weights if lists]
    if len(weights) <= MAJORITY * len(optimizer.steps):
        return [Row(table.TARGET, NOT_SEEN, UNREAD)]
    uneven = [(n, lists) for n, lists in weights if _largest_ratio(lists) > UNEVEN]
    if len(uneven) <= MAJORITY * len(weights):
        return [Row(table.TARGET, EQUAL, "as much on each rank and in each pass")]
    number, by_line = uneven[0]
    step_on_ranks = optimizer.steps[number - 1]
    terms = [[_divisor(p.parts[0]) for p in step.passes if p.parts] for step in step_on_ranks]
    shares = "; ".join(
        f"rank {rank}: {', '.join(counts)}"
        for rank, counts in zip(evidence.ranks, terms, strict=True)
    )
    times = _largest_ratio(by_line)
    line = step_on_ranks[0].passes[-1].called or step_on_ranks[0].passes[-1].line
    finding = causes.MEAN_OF_MEANS.finding(
        f"Each rank and each pass divides by its own number of targets (in step {number}, {shares})"
        f", and the means are averaged: a target of one counts up to {times:.1f} times one of "
        "another.",
        step=number,
        where=line,
    )
    says = f"up to {times:.1f} times as much, in step {number}"
    return [Row(table.TARGET, DIFFERS, says), finding]


def _divisor(part: LossTerm) -> str:
    """The number that a part is divided by: a mean's terms, or the script's divisor of a sum."""
    return f"{1 / part.weight:.4g}" if part.name == "sum" else str(part.terms)


def _weights(step_on_ranks: tuple[OptimizerStep, ...], several: bool) -> list[list[float]]:
    """How much a target counts in each pass, relative to the first; empty if a loss is unread.

    Each line of the script has a list of its own, because losses of different lines, such as a
    GAN's, do not share a batch. `several` allows losses that have several parts.
    """
    by_line: dict[str, list[BackwardPass]] = {}
    for step in step_on_ranks:
        for backward_pass in step.passes:
            by_line.setdefault(backward_pass.line, []).append(backward_pass)
    weights = [
        [_relative(backward_pass, group[0], several) for backward_pass in group]
        for group in by_line.values()
    ]
    all_read = all(step.passes for step in step_on_ranks) and all(map(all, weights))
    return weights if all_read else []


def _relative(backward_pass: BackwardPass, first: BackwardPass, several: bool) -> float:
    """How much a target counts in a pass, relative to another pass (1.0 = equal).

    It is 0 if a loss was not read, or if its parts disagree: then each part may be divided by
    another number.
    """
    ours, theirs = backward_pass.parts, first.parts
    if [part.name for part in ours] != [part.name for part in theirs]:
        return 0.0
    if len(ours) > 1 and not several:
        return 0.0
    if not ours or not all(part.terms and part.weight for part in [*ours, *theirs]):
        return 0.0
    ratios = [our.weight / their.weight for our, their in zip(ours, theirs, strict=True)]
    return ratios[0] if max(ratios) <= (1 + FACTOR) * min(ratios) else 0.0


def _largest_ratio(weights: list[list[float]]) -> float:
    """The largest ratio between what two targets of the same line count."""
    return max(max(group) / min(group) for group in weights)


def _weight(backward_pass: BackwardPass) -> float:
    """How much a target counts; 0 if the loss was not read or has several parts."""
    if len(backward_pass.parts) != 1 or not backward_pass.parts[0].terms:
        return 0.0
    return backward_pass.parts[0].weight


def _factor(evidence: Evidence, optimizer: OptimizerOnRanks) -> Finding | None:
    """Find that the gradients are N, 1/N or k times those of the mean, for N ranks and k passes."""
    if not optimizer.kinds:
        return None
    factors = [
        kind.factor for step in optimizer.kinds
        for kind in [step.first[param_index] for param_index in optimizer.mostly(MEAN)]
        if kind.name == MEAN and kind.distinct
    ]  # fmt: skip
    if not factors:
        return None
    factor = median_high(factors)
    alike = sum(near(other, factor) for other in factors) > ALIKE * len(factors)
    total, passes, line = _total(optimizer)
    count = evidence.world_size
    where = optimizer.steps[0][0].line
    if not alike:
        return None
    if near(factor, count) and near(total, 1):
        return causes.FACTOR.finding(
            f"The gradients are added, not averaged: they are {count} times those of the mean over "
            "all samples, as if the learning rate were so much larger.",
            DIVIDE,
            step=1,
            where=where,
        )
    if near(factor, 1 / count) and not near(total, count):
        return causes.FACTOR.finding(
            f"The gradients are averaged, and divided by the world size once more: they are 1/"
            f"{count} of the mean over all samples.",
            DIVIDE_ONCE,
            step=1,
            where=where,
        )
    if near(factor, 1) and passes > 1 and near(total, passes) and _has_new_samples(optimizer):
        return causes.FACTOR.finding(
            f"The losses of the {passes} passes of a step are added, not averaged: the gradient is "
            f"{passes} times that of the mean over all samples. One process would do the same.",
            f"Divide the loss of each pass by {passes}.",
            lab="04",
            step=1,
            where=line,
        )
    return None


def near(value: float, other: float) -> bool:
    """Whether two factors are equal, up to rounding."""
    return abs(value - other) <= FACTOR * abs(other)


def sum_of_weights(step: OptimizerStep) -> float:
    """How much all targets of a step count together; 0 if a loss is unread or scaled."""
    if not step.passes or any(p.scaled or not _weight(p) for p in step.passes):
        return 0.0
    return sum(_weight(p) * p.parts[0].terms for p in step.passes)


def _total(optimizer: OptimizerOnRanks) -> tuple[float, int, str]:
    """How much all targets of a step count together on a rank, its number of passes, their line.

    The result is `(0.0, 0, "")` if a loss was not read or is scaled, if the losses come from
    several lines, or if the number of passes changes.
    """
    totals: list[float] = []
    counts: set[int] = set()
    lines: set[str] = set()
    for step_on_ranks in optimizer.steps:
        for step in step_on_ranks:
            totals.append(sum_of_weights(step))
            if not totals[-1]:
                return 0.0, 0, ""
            counts.add(len(step.passes))
            lines |= {p.line for p in step.passes}
    if not totals or len(counts) > 1 or len(lines) > 1:
        return 0.0, 0, ""
    return median_high(totals), counts.pop(), lines.pop()


def _has_new_samples(optimizer: OptimizerOnRanks) -> bool:
    """Whether each pass of a step has its own samples, as when a large batch is split."""
    for step_on_ranks in optimizer.steps:
        for step in step_on_ranks:
            samples = [tuple(backward_pass.samples) for backward_pass in step.passes]
            if not all(samples) or len(set(samples)) < len(samples):
                return False
    return True


RULES: tuple[Rule, ...] = (targets,)
