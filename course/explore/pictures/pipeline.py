"""The picture of a pipeline's schedule: predicted, and measured below it."""

from functools import partial

from course.core import words
from course.drawing import palette, svg
from course.explore.controls import Choice, Slider
from course.explore.factory import Description, explorable
from course.explore.models import pipeline as model

LEFT, RIGHT = 92, svg.WIDTH - svg.MARGIN - 76
ROW, HEIGHT = 28, 22
TOP = 120  # y of the first lane


def draw(
    policy: str,
    stages: int,
    microbatches: int,
    backward: float,
    measured: model.Schedule | None = None,
) -> svg.Picture:
    """Draw one state of the explorable; `backward` is relative to the cost of a forward pass."""
    if policy == model.INTERLEAVED:  # it needs a multiple of the ranks
        microbatches = -(-microbatches // stages) * stages
    plan = model.schedule(policy, stages, microbatches, backward)
    idle = model.bubble(plan)
    end = svg.round_up(model.length(plan))
    bottom = TOP + stages * ROW
    body = [
        svg.legend(LEFT, 88, _marks(plan)),
        svg.text(RIGHT + 12, TOP - 10, "keeps", colour=palette.MUTED),
        *_lanes(plan, TOP, end, policy),
        svg.axis(LEFT, bottom, RIGHT - LEFT, end, "predicted, in forward passes", rise=0),
    ]
    if measured:
        ran = max(step.end for steps in measured for step in steps)
        top = bottom + 62
        bottom = top + len(measured) * ROW
        body += [
            *_lanes(measured, top, svg.round_up(ran), model.ONE_F_ONE_B),
            svg.axis(LEFT, bottom, RIGHT - LEFT, svg.round_up(ran), "measured, in ms"),
        ]
    return svg.card(
        bottom + 46,
        _title(policy, stages, idle, measured),
        body,
        subtitle=_subtitle(policy, stages, microbatches, backward),
        alt=f"{policy} on {words.plural(stages, 'rank')} with "
        f"{words.plural(microbatches, 'micro-batch')}: "
        f"{100 * idle:.0f} % of the ranks' time is bubble, and the ranks keep the activations of "
        f"{', '.join(_in_memory(steps, policy) for steps in plan)} micro-batches.",
    )


def _title(policy: str, stages: int, idle: float, measured: model.Schedule | None) -> str:
    if stages == 1:
        return "One stage has nobody to wait for"
    name = policy[0].upper() + policy[1:]
    title = f"{name}: the bubble is {100 * idle:.0f} % of the ranks' time"
    return f"{title}, measured {100 * model.bubble(measured):.0f} %" if measured else title


def _subtitle(policy: str, stages: int, microbatches: int, backward: float) -> str:
    count = words.plural(microbatches, "micro-batch")
    where = words.plural(stages, "rank")
    if policy == model.ZERO_BUBBLE and stages > 1:
        before = model.bubble(model.schedule(model.ONE_F_ONE_B, stages, microbatches, backward))
        return (
            f"{count} through {where}; ZB-H1 shrinks the bubble of 1F1B ({100 * before:.0f} %), "
            "but does not close it"
        )
    return (
        f"{count} (numbered) through {where}; on the right, how many of them a rank keeps at once"
    )


def _marks(plan: model.Schedule) -> list[tuple[str, str, str]]:
    blue = palette.rank_colour(0)
    split = any(step.kind == "W" for steps in plan for step in steps)
    marks = [
        ("solid", palette.phase_colour(blue, "forward"), "forward"),
        ("solid", blue, "backward" if not split else "backward: the input's gradient"),
    ]
    if split:
        marks.append(("solid", palette.phase_colour(blue, "optimizer"), "the weights' gradients"))
    return [*marks, ("solid", palette.WAIT, "bubble")]


def _in_memory(steps: list[model.PipelinePass], policy: str) -> str:
    """Say how many micro-batches a rank keeps; one of two chunks counts half."""
    chunks = model.CHUNKS if policy == model.INTERLEAVED else 1
    return words.significant(model.kept(steps) / chunks)


def _lanes(plan: model.Schedule, top: float, end: float, policy: str) -> list[str]:
    """Draw one lane per rank, from 0 to `end`."""
    begin = min(step.start for steps in plan for step in steps)
    last = max(step.end for steps in plan for step in steps)
    scale, parts = (RIGHT - LEFT) / end, []
    for rank, steps in enumerate(plan):
        y, colour = top + rank * ROW, palette.rank_colour(rank)
        name = svg.text(LEFT - 12, y + 16, f"Rank {rank}", anchor="end", bold=True, colour=colour)
        parts.append(name)
        parts.append(
            svg.rect(LEFT + begin * scale, y, (last - begin) * scale, HEIGHT, palette.WAIT)
        )
        parts += [_pass(step, y, scale, colour) for step in steps]
        parts.append(svg.text(RIGHT + 12, y + 16, _in_memory(steps, policy), bold=True))
    return parts


def _pass(step: model.PipelinePass, y: float, scale: float, colour: str) -> str:
    x, width = LEFT + step.start * scale, (step.end - step.start) * scale
    phase = {"F": "forward", "B": "backward", "W": "optimizer"}[step.kind]
    part = f", part {step.chunk + 1} of this rank's model" if step.chunk else ""
    tip = f"{step.kind} of micro-batch {step.microbatch}{part}"
    fill = palette.phase_colour(colour, phase)
    box = svg.rect(x, y, width - svg.hair(width), HEIGHT, fill, tip=tip)
    label = str(step.microbatch)
    if svg.text_width(label) + 2 > width:
        return box
    return box + svg.text(x + width / 2, y + 16, label, anchor="middle", colour=palette.on(fill))


@explorable
def pipeline(metrics=None) -> Description:
    """A pipeline's schedule over time: change the policy, the stages and the micro-batches.

    `metrics` is the table of a run of src/pipeline_times.py (`run.metrics`), drawn below it. A
    table without a timeline is a `CourseError`.
    """
    ran = None if metrics is None else model.measured(metrics.to_dict("records"))
    stages, microbatches = (4, 8) if ran is None else (len(ran), len(ran[0]) // 2)

    return partial(draw, measured=ran), {
        "policy": Choice("Schedule", model.POLICIES, model.GPIPE),
        "stages": Slider("Ranks", 1, 8, stages),
        "microbatches": Slider("Micro-batches", 1, 16, microbatches),
        "backward": Slider("Backward, in forwards", 1, 3, 2, step=0.5),
    }
