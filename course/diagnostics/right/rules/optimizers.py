"""Rules on optimizers and schedules: do they cover all parameters, and the whole training?"""

from statistics import median_high

from course.core import words
from course.diagnostics.finding import Finding
from course.diagnostics.numerics.training import UnoptimizedParameter
from course.diagnostics.right import causes, table
from course.diagnostics.right.evidence import NO_STEP, Evidence
from course.diagnostics.right.optimizer_on_ranks import OptimizerOnRanks
from course.diagnostics.right.table import DIFFERS, EQUAL, NOT_SEEN, Result, Row, Rule
from course.diagnostics.right.thresholds import ALIVE, MAJORITY


def unoptimized(evidence: Evidence) -> Result:
    """Does a parameter get gradients that no optimizer uses?"""
    if not evidence.step_count:
        return [Row(table.UNOPTIMIZED, NOT_SEEN, NO_STEP)]
    if optimizer := next(filter(_is_idle, evidence.optimizers), None):
        says = "an optimizer has only parameters that get no gradients"
        return [Row(table.UNOPTIMIZED, DIFFERS, says), _steps_for_nothing(optimizer)]
    parameters = [
        parameter
        for parameter in evidence.reports[0].unoptimized
        # If no optimizer has any parameter of a model, such as a teacher, it is not trained.
        if parameter.gradients >= ALIVE and parameter.missing < parameter.in_model
    ]
    late = [parameter for parameter in parameters if parameter.late]
    few = [p for p in parameters if p.missing <= MAJORITY * p.in_model]
    if late or few:
        names = ", ".join(f"`{parameter.name}`" for parameter in (late or few)[:3])
        return [
            Row(table.UNOPTIMIZED, DIFFERS, names),
            _in_no_optimizer(evidence, late or few, names),
        ]
    if parameters:
        says = "most of a model gets gradients that are not used"
        return [Row(table.UNOPTIMIZED, NOT_SEEN, says)]
    return [Row(table.UNOPTIMIZED, EQUAL, "all that get gradients are in an optimizer")]


def _steps_for_nothing(optimizer: OptimizerOnRanks) -> Finding:
    """Find that none of the optimizer's parameters gets a gradient."""
    return causes.NEVER_UPDATED.finding(
        f"In {words.plural(len(optimizer.steps), 'step')} no parameter of this optimizer got a "
        "gradient, and none has changed: it steps for nothing. It may hold parameters that "
        "were replaced after it was made, as fully_shard does.",
        "Make the optimizer once the model is whole: after fully_shard, a move to another "
        "type, or a new layer.",
        lab="10b",
        where=optimizer.on_rank[0].made_at,
    )


def _in_no_optimizer(
    evidence: Evidence, parameters: list[UnoptimizedParameter], names: str
) -> Finding:
    """Find that some parameters of a trained model get gradients and are in no optimizer."""
    several = len(parameters) > 1
    made = " They were made after the optimizer." if parameters[0].late else ""
    return causes.NEVER_UPDATED.finding(
        f"{names} {'get' if several else 'gets'} gradients in each pass, and no optimizer has "
        f"{'them' if several else 'it'}, so nothing is learned there.{made}",
        "Build the whole model first and the optimizer after it, or add the parameters with "
        "optimizer.add_param_group.",
        where=parameters[0].made_at or evidence.optimizers[0].on_rank[0].made_at,
    )


def _is_idle(optimizer: OptimizerOnRanks) -> bool:
    """Whether the optimizer never had a gradient or changed a weight, though it should.

    An optimizer whose parameters were frozen when it began is not idle: the script may have frozen
    them on purpose.
    """
    steps = [step for step_on_ranks in optimizer.steps for step in step_on_ranks]
    enough = len(optimizer.steps) >= 2 * ALIVE and not optimizer.on_rank[0].frozen
    return enough and not any(
        s.closure or any(s.has_gradient) or s.before != s.after for s in steps
    )


def schedule(evidence: Evidence) -> Result:
    """Does a schedule step once per optimizer step, and last as long as the training?"""
    for optimizer in evidence.optimizers:
        for judge in (_too_fast, _too_short):
            if found := judge(optimizer):
                return found
    if any(step.schedules for step_on_ranks in evidence.steps_on_ranks for step in step_on_ranks):
        return [Row(table.SCHEDULE, EQUAL, "in step with the optimizer so far")]
    return [Row(table.SCHEDULE, NOT_SEEN, "no schedule stepped")]


def _too_fast(optimizer: OptimizerOnRanks) -> Result:
    """Find that the schedule steps once per backward pass, with several passes per step."""
    steps = _schedule_steps(optimizer)
    later = [step_on_ranks[0] for step_on_ranks in optimizer.steps[1:]]
    if steps <= 1 or steps != _median([len(step.passes) for step in later]):
        return []
    finding = causes.SCHEDULE.finding(
        f"The schedule takes {steps} steps for each step of the optimizer, one per backward pass: "
        f"the rate falls {steps} times too fast.",
        "Call scheduler.step() where optimizer.step() is called.",
        lab="04",
        where=_schedule_line(optimizer),
    )
    return [Row(table.SCHEDULE, DIFFERS, f"{steps} steps for each of the optimizer's"), finding]


def _too_short(optimizer: OptimizerOnRanks) -> Result:
    """Find that the learning rate is 0 for the last steps of the training."""
    first = optimizer.on_rank[0]
    if first.zero_rates < ALIVE or first.zero_from + first.zero_rates <= first.steps:
        return []
    says = (
        f"The learning rate is 0 from step {first.zero_from} on, and {first.steps} steps "
        f"were taken: the last {first.zero_rates} change nothing."
    )
    cure = "Make the schedule as long as the training."
    if not _schedule_steps(optimizer):  # the script steps no schedule itself
        says += " accelerate steps a prepared schedule once for each process."
        cure = (
            "Make the schedule as long as it is stepped: times the number of processes; or "
            "pass step_scheduler_with_optimizer=False and step it yourself."
        )
    row = Row(table.SCHEDULE, DIFFERS, f"the rate is 0 from step {first.zero_from} on")
    finding = causes.SCHEDULE.finding(
        says,
        cure,
        lab="04e",
        step=first.zero_from,
        where=_schedule_line(optimizer) or first.made_at,
    )
    return [row, finding]


def _schedule_steps(optimizer: OptimizerOnRanks) -> int:
    """The median number of steps that the script's schedule takes per step of the optimizer."""
    return _median([step_on_ranks[0].schedules for step_on_ranks in optimizer.steps[1:]])


def _schedule_line(optimizer: OptimizerOnRanks) -> str:
    lines = [step_on_ranks[0].schedule_line for step_on_ranks in optimizer.steps]
    return next(filter(None, lines), "")


def _median(counts: list[int]) -> int:
    return median_high(counts) if counts else 0


RULES: tuple[Rule, ...] = (unoptimized, schedule)
