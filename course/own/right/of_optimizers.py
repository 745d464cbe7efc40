"""Rules on optimizers and schedules: they cover all that is trained, and the whole training."""

from collections.abc import Callable, Iterator

from course.core import words
from course.own.finding import Finding
from course.own.right import causes, table
from course.own.right.evidence import NO_STEP, Evidence
from course.own.right.optimizer_on_ranks import OptimizerOnRanks
from course.own.right.table import DIFFERS, EQUAL, NOT_SEEN, Row
from course.own.right.thresholds import ALIVE, MAJORITY

Result = Iterator[Finding | Row]


def loose(evidence: Evidence) -> Result:
    """Does a parameter get gradients that no optimizer uses?"""
    if not evidence.steps:
        yield Row(table.LOOSE, NOT_SEEN, NO_STEP)
        return
    if optimizer := next(filter(_is_idle, evidence.optimizers), None):
        yield Row(table.LOOSE, DIFFERS, "an optimizer has only parameters that get no gradients")
        yield causes.NEVER_UPDATED.finding(
            f"In {words.plural(len(optimizer.steps), 'step')} no parameter of this optimizer got a "
            "gradient, and none has changed: it steps for nothing. It may hold parameters that "
            "were replaced after it was made, as fully_shard does.",
            "Make the optimizer once the model is whole: after fully_shard, a move to another "
            "type, or a new layer.",
            lab="10b",
            where=optimizer.on_rank[0].made_at,
        )
        return
    rank = evidence.ranks[0]
    alive = [parameter for parameter in rank.loose if parameter.passes >= ALIVE]
    # The model of the others is not trained.
    alive = [parameter for parameter in alive if parameter.missing < parameter.of]
    late = [parameter for parameter in alive if parameter.late]
    few = [parameter for parameter in alive if parameter.missing <= MAJORITY * parameter.of]
    if parameters := late or few:
        names = ", ".join(f"`{parameter.name}`" for parameter in parameters[:3])
        where = parameters[0].made_at or evidence.optimizers[0].on_rank[0].made_at
        made = " They were made after the optimizer." if late else ""
        yield Row(table.LOOSE, DIFFERS, names)
        yield causes.NEVER_UPDATED.finding(
            f"{names} {'get' if len(parameters) > 1 else 'gets'} gradients in each pass, and no "
            f"optimizer has {'them' if len(parameters) > 1 else 'it'}, so nothing is learned there."
            f"{made}",
            "Build the whole model first and the optimizer after it, or add the parameters with "
            "optimizer.add_param_group.",
            where=where,
        )
    elif alive:
        yield Row(table.LOOSE, NOT_SEEN, "most of a model gets gradients that are not used")
    else:
        yield Row(table.LOOSE, EQUAL, "all that get gradients are in an optimizer")


def _is_idle(optimizer: OptimizerOnRanks) -> bool:
    """Whether no step had a gradient or changed a weight, though a parameter needs one.

    An optimizer of a part that is frozen at first, on purpose, steps in vain as well.
    """
    steps = [step for row in optimizer.steps for step in row]
    enough = len(optimizer.steps) >= 2 * ALIVE and not optimizer.on_rank[0].frozen
    return enough and not any(s.closure or any(s.got) or s.before != s.after for s in steps)


def schedule(evidence: Evidence) -> Result:
    """Does a schedule step once for each step, and not end before the training?"""
    for optimizer in evidence.optimizers:
        first = optimizer.on_rank[0]
        steps = [row[0] for row in optimizer.steps]
        counts = sorted(step.schedules for step in steps[1:])
        middle = counts[len(counts) // 2] if counts else 0
        passes = sorted(len(step.latest) for step in steps[1:])
        per_step = passes[len(passes) // 2] if passes else 0
        if middle > 1 and middle == per_step:
            where = next(step.schedule_line for step in steps if step.schedule_line)
            yield Row(table.SCHEDULE, DIFFERS, f"{middle} steps for each of the optimizer's")
            yield causes.SCHEDULE.finding(
                f"The schedule takes {middle} steps for each step of the optimizer, one per "
                "backward pass: the rate falls so many times too fast.",
                "Call scheduler.step() where optimizer.step() is called.",
                lab="04",
                where=where,
            )
            return
        if first.zero_rates >= ALIVE and first.zero_from + first.zero_rates > first.steps:
            line = next((s.schedule_line for s in steps if s.schedule_line), first.made_at)
            says = (
                f"The learning rate is 0 from step {first.zero_from} on, and {first.steps} steps "
                f"were taken: the last {first.zero_rates} change nothing."
            )
            cure = "Make the schedule as long as the training."
            if not middle:  # no step of the script's own
                says += " accelerate steps a prepared schedule once for each process."
                cure = (
                    "Make the schedule as long as it is stepped: times the number of processes; or "
                    "pass step_scheduler_with_optimizer=False and step it yourself."
                )
            yield Row(table.SCHEDULE, DIFFERS, f"the rate is 0 from step {first.zero_from} on")
            yield causes.SCHEDULE.finding(
                says,
                cure,
                lab="04e",
                step=first.zero_from,
                where=line,
            )
            return
    if any(step.schedules for row in evidence.step_rows for step in row):
        yield Row(table.SCHEDULE, EQUAL, "in step with the optimizer so far")
    else:
        yield Row(table.SCHEDULE, NOT_SEEN, "no schedule stepped")


RULES: tuple[Callable[[Evidence], Result], ...] = (loose, schedule)
