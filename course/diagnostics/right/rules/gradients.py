"""Rules on each rank's gradient: is it its own, is it averaged, and did it begin at zero?"""

from collections.abc import Sequence

from course.core import words
from course.diagnostics.finding import Finding
from course.diagnostics.numerics.training import BackwardPass, OptimizerStep
from course.diagnostics.right import causes, table
from course.diagnostics.right.evidence import Evidence
from course.diagnostics.right.gradient_kinds import MEAN, OTHER, OWN
from course.diagnostics.right.optimizer_on_ranks import OptimizerOnRanks
from course.diagnostics.right.table import DIFFERS, EQUAL, NOT_SEEN, Result, Row, Rule, shorten
from course.diagnostics.right.thresholds import MAJORITY


def own(evidence: Evidence) -> Result:
    """Does each rank compute a different gradient before the average?"""
    if not evidence.used_kinds:
        return [Row(table.OWN, NOT_SEEN, why_no_gradients(evidence))]
    if any(kind.distinct for kind in evidence.used_kinds):
        return [Row(table.OWN, DIFFERS, "each rank computes one of its own, as it must")]
    return [Row(table.OWN, EQUAL, "bit by bit: the ranks do the same work")]


def why_no_gradients(evidence: Evidence) -> str:
    """Why the gradients of no step were compared."""
    if evidence.is_sharded:
        return "each rank has only its shard, of weights and of averaged gradients"
    if evidence.why_split:
        return evidence.why_split
    if any(step.closure for step_on_ranks in evidence.steps_on_ranks for step in step_on_ranks):
        return "the optimizer computes its gradients itself, in a closure"
    return evidence.unseen("own gradient") or "no step with gradients was seen"


def averaged(evidence: Evidence) -> Result:
    """Is the gradient that an optimizer uses the mean of the ranks' own?"""
    if (
        evidence.why_split
        or evidence.is_sharded
        or not any(optimizer.kinds for optimizer in evidence.optimizers)
    ):
        return [Row(table.USED, NOT_SEEN, why_no_gradients(evidence))]
    if pending := _not_waited_for(evidence):
        finding = causes.NOT_AVERAGED.finding(
            f"The optimizer uses the gradients before they have arrived: nothing waits for the "
            f"message that begins at {pending}.",
            "Keep what the call with async_op=True returns, and call its wait() before the step.",
            lab="03b",
            step=1,
            where=pending,
        )
        return [Row(table.USED, DIFFERS, "the messages were not waited for"), finding]
    for optimizer in evidence.optimizers:
        alone = optimizer.mostly(OWN)
        if alone and (finding := _not_averaged(evidence, optimizer, alone)):
            names = shorten(optimizer.names_of(alone))
            return [Row(table.USED, DIFFERS, f"each rank uses its own of {names}"), finding]
    if evidence.averages_weights:
        return [Row(table.USED, NOT_SEEN, "the ranks average their weights instead, now and then")]
    if any(optimizer.mostly(MEAN) for optimizer in evidence.optimizers):
        return [Row(table.USED, EQUAL, _describe_mean(evidence))]
    if any(optimizer.mostly(OTHER) for optimizer in evidence.optimizers):
        return [Row(table.USED, NOT_SEEN, "equal on all ranks, but combined in another way")]
    if not any(kind.distinct for kind in evidence.used_kinds):
        says = "the ranks' own gradients are equal, so it does not show"
        return [Row(table.USED, NOT_SEEN, says)]
    return [Row(table.USED, NOT_SEEN, "the ranks' gradients are not combined in a known way")]


def _describe_mean(evidence: Evidence) -> str:
    factors = {
        round(factor, 2) for optimizer in evidence.optimizers for factor in _factors(optimizer)
    }
    times = (
        ""
        if factors <= {1.0}
        else f", times {', '.join(f'{factor:g}' for factor in sorted(factors))}"
    )
    return f"on all ranks{times}"


def _factors(optimizer: OptimizerOnRanks) -> list[float]:
    kinds = [
        step.first[param_index] for step in optimizer.kinds for param_index in optimizer.trained
    ]
    return [kind.factor for kind in kinds if kind.name == MEAN]


def _not_waited_for(evidence: Evidence) -> str:
    if evidence.reports[0].wrapped:
        return ""
    for optimizer in evidence.optimizers:
        lines = [step_on_ranks[0].pending for step_on_ranks in optimizer.steps]
        if sum(map(bool, lines)) > MAJORITY * len(lines):
            return next(filter(None, lines))
    return ""


def _not_averaged(
    evidence: Evidence, optimizer: OptimizerOnRanks, alone: list[int]
) -> Finding | None:
    """Find out why ranks use their own gradients of these parameters; None if that may be right."""
    wraps = evidence.reports[0].wrapped
    ignored = {name for wrap in wraps for name in wrap.ignored}
    if evidence.averages_weights or ignored.issuperset(optimizer.names_of(alone)):
        return None
    if len(alone) < len(optimizer.trained):
        return _some_alone(optimizer, alone)
    passes = [
        backward_pass
        for _, step_on_ranks in optimizer.sampled_steps
        for backward_pass in step_on_ranks[0].passes
    ]
    bypassed = next(
        (backward_pass.bypassed for backward_pass in passes if backward_pass.bypassed), ""
    )
    inside = {name for wrap in wraps for name in wrap.names}
    if wraps and (bypassed or not inside.isdisjoint(optimizer.names_of(alone))):
        steps = _steps_alone(optimizer, alone)
        return _past_ddp(steps, bypassed) if bypassed else _in_ddp(steps, passes)
    if not optimizer.starts_equal or (wraps and not evidence.combines_gradients):
        return None
    return _nothing_averaged(evidence, optimizer, passes)


def _steps_alone(optimizer: OptimizerOnRanks, alone: list[int]) -> str:
    """The number of steps in which the ranks combined none of these gradients, as text."""
    steps = [
        step
        for step in optimizer.kinds
        if not any(step.used[param_index].name in (MEAN, OTHER) for param_index in alone)
    ]
    return f"{len(steps)} of {len(optimizer.kinds)} steps looked at"


def _some_alone(optimizer: OptimizerOnRanks, alone: list[int]) -> Finding | None:
    """Find that these parameters are not averaged, while others are."""
    if not optimizer.starts_equal:
        return None
    names = shorten(optimizer.names_of(alone))
    return causes.NOT_AVERAGED.finding(
        f"The gradients of {names} are not averaged, those of the others are: each rank trains "
        f"its own {words.plural(len(alone), 'tensor')} of them.",
        "Put all that is trained into the model that DDP wraps, or average the rest as well.",
        step=1,
        where=optimizer.on_rank[0].made[alone[0]] or optimizer.on_rank[0].made_at,
    )


def _past_ddp(steps: str, bypassed: str) -> Finding:
    """Find that the script calls the module inside DDP instead of DDP, at the line `bypassed`."""
    return causes.NOT_AVERAGED.finding(
        f"No gradient is averaged in {steps}: the model is called at {bypassed} past DDP, "
        "on the module inside, so DDP never learns of the backward pass. Each rank trains "
        "a model of its own.",
        "Call the wrapped model itself, model(...), not model.module or a part of it. If "
        "you need more than one method, put the loss into the module's forward.",
        lab="04e",
        step=1,
        where=bypassed,
    )


def _in_ddp(steps: str, passes: Sequence[BackwardPass]) -> Finding:
    """Find that DDP wraps the model, but averages in none of the passes."""
    if passes and not any(backward_pass.syncs for backward_pass in passes):
        return causes.NOT_AVERAGED.finding(
            f"No gradient is averaged in {steps}: DDP's no_sync was on in every forward pass, "
            "or the model was not called through DDP.",
            "Leave the last pass before the step, forward and backward, outside of no_sync.",
            lab="04",
            step=1,
            where=passes[-1].called or passes[-1].line,
        )
    return causes.NOT_AVERAGED.finding(
        f"No gradient is averaged in {steps}, though the model is in DDP.",
        "Call the model through DDP, and step the optimizer of its own parameters.",
        step=1,
        where=passes[-1].line if passes else "",
    )


def _nothing_averaged(
    evidence: Evidence, optimizer: OptimizerOnRanks, passes: Sequence[BackwardPass]
) -> Finding:
    """Find that nothing averages the gradients, or that the optimizer does not use the average."""
    sent = sum(evidence.reports[0].sends.get(kind, 0) for kind in ("backward", "between", "step"))
    says = (
        "The ranks send messages, but each optimizer uses its rank's own gradients"
        if sent
        else f"Nothing was averaged in the {len(optimizer.steps)} steps watched: the ranks began "
        "with equal weights, and each uses its own gradients"
    )
    return causes.NOT_AVERAGED.finding(
        f"{says}, so each rank trains a model of its own.",
        "Wrap the model in DDP, or all-reduce each gradient and divide by the world size before "
        "the step.",
        step=1,
        where=passes[-1].line if passes else "",
    )


def zeroed(evidence: Evidence) -> Result:
    """Are the gradients zero when a step begins?"""
    compared = False
    for optimizer in evidence.optimizers:
        dirty: list[set[int]] = []
        for _, step_on_ranks in optimizer.sampled_steps[1:]:
            compared = True
            dirty.append(
                {rank_index for rank_index, step in enumerate(step_on_ranks) if _is_dirty(step)}
            )
        ranks = [
            rank_index
            for rank_index in range(evidence.world_size)
            if sum(rank_index in on_ranks for on_ranks in dirty) > MAJORITY * len(dirty)
        ]
        if ranks:
            one_rank = evidence.ranks[ranks[0]] if len(ranks) == 1 else None
            on = "" if one_rank is None else f" on rank {one_rank}"
            where = optimizer.steps[0][ranks[0]].line
            finding = causes.NOT_ZEROED.finding(
                f"The gradients are not zero when a step begins{on}: each step also uses those of "
                "all steps before it.",
                rank=one_rank,
                step=2,
                where=where,
            )
            says = f"those of the step before are still there{on}"
            return [Row(table.ZERO, DIFFERS, says), finding]
    if compared:
        return [Row(table.ZERO, EQUAL, "on all ranks")]
    return [Row(table.ZERO, NOT_SEEN, why_no_gradients(evidence))]


def _is_dirty(step: OptimizerStep) -> bool:
    """Whether most of a rank's gradients were not zero when the step began."""
    return step.gradients.clean.count(False) > MAJORITY * max(1, sum(step.has_gradient))


RULES: tuple[Rule, ...] = (own, averaged, zeroed)
