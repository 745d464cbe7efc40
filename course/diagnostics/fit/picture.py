"""Draw memory over the steps by kind: a panel for each number of GPUs, a line for each GPU size."""

from course.core import words
from course.diagnostics.fit.client import Rehearsal
from course.diagnostics.fit.record import KINDS
from course.diagnostics.fit.result import FitResult
from course.diagnostics.fit.text import gpu_size
from course.drawing import Picture, palette, svg

LEFT, TOP, HEIGHT, GAP = 84, 112, 110, 58
RIGHT = svg.WIDTH - 40
COLOURS = {kind: palette.rank_colour(index) for index, kind in enumerate(KINDS)}


def draw(answer: FitResult) -> Picture:
    """Draw a panel for each rehearsal, all on one scale."""
    rehearsals = answer.rehearsals
    highest = max(max(run.peak for run in answer.runs), *_near(answer))
    parts = [svg.legend(LEFT, TOP - 34, [("solid", COLOURS[kind], kind) for kind in KINDS])]
    for index, rehearsal in enumerate(rehearsals):
        parts += _panel(answer, rehearsal, TOP + index * (HEIGHT + GAP), highest)
    verdicts = "; ".join(
        f"{words.plural(run.rehearsal.ranks, 'GPU')} of {gpu_size(run.memory)}: "
        f"{'fits' if run.fits else 'does not fit'}"
        for run in answer.runs
    )
    return svg.card(
        TOP + len(rehearsals) * (HEIGHT + GAP) + 8,
        _title(answer),
        parts,
        subtitle="GiB on each GPU over the rehearsed steps; grey: what lies beside tensors",
        alt=f"Memory over the steps, by kind. {verdicts}.",
    )


def _title(answer: FitResult) -> str:
    fitting = [run for run in answer.runs if run.fits]
    if not fitting:
        return "It fits on none of these GPUs"
    least = min(fitting, key=lambda run: (run.rehearsal.ranks * run.memory, run.memory))
    gpus = words.plural(least.rehearsal.ranks, "GPU")
    return f"It fits on {gpus} of {gpu_size(least.memory)}"


def _near(answer: FitResult) -> list[int]:
    """The sizes of GPUs to show, in bytes: those not far above what is needed."""
    peak = max(run.peak for run in answer.runs)
    return [run.memory for run in answer.runs if run.memory <= 3 * peak] or [0]


def _panel(answer: FitResult, rehearsal: Rehearsal, top: float, highest: int) -> list[str]:
    bottom = top + HEIGHT
    scale = HEIGHT / highest
    series = rehearsal.account.series
    last = max(1.0, series[-1][0]) if series else 1.0
    xs = [LEFT + (RIGHT - LEFT) * time / last for time, _ in series]
    run = next(run for run in answer.runs if run.rehearsal is rehearsal)
    overhead = run.peak - rehearsal.account.peak
    floor = [bottom - overhead * scale] * len(xs)
    parts = [svg.rect(LEFT, floor[0] if floor else bottom, RIGHT - LEFT, overhead * scale,
                      fill=palette.tint(palette.MUTED, 0.5))]  # fmt: skip
    for kind in KINDS:
        upper = [y - held[kind] * scale for y, (_, held) in zip(floor, series, strict=True)]
        outline = [*zip(xs, upper, strict=True), *reversed(list(zip(xs, floor, strict=True)))]
        parts.append(svg.polygon(outline, COLOURS[kind]))
        floor = upper
    parts.append(svg.text(LEFT, top - 8, words.plural(rehearsal.ranks, "GPU"), bold=True))
    parts.append(svg.line(LEFT, bottom, RIGHT, bottom))
    parts.append(svg.text(LEFT - 8, bottom + 4, "0", anchor="end", colour=palette.MUTED))
    for size in sorted({run.memory for run in answer.runs if run.memory <= highest}):
        y = bottom - size * scale
        label = gpu_size(size)
        parts.append(svg.line(LEFT, y, RIGHT, y, colour=palette.INK, width=1.6))
        parts.append(svg.text(LEFT - 8, y + 4, label, anchor="end"))
    for step in range(int(last)):
        x = LEFT + (RIGHT - LEFT) * step / last
        label = f"step {step + 1}"
        parts.append(svg.text(x, bottom + 18, label, colour=palette.MUTED))
    return parts
