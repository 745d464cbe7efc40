"""The diagnosis of `why` in words: ten lines that a newcomer understands."""

from course.core import words
from course.diagnostics.answers.paragraph import paragraph
from course.diagnostics.why.cause import Cause, percent
from course.diagnostics.why.detectors.computing import Computing
from course.diagnostics.why.diagnosis import Diagnosis
from course.diagnostics.why.thresholds import BUSY, FAULT_SHARE, MOSTLY, SHOWN_SHARE


def title(diagnosis: Diagnosis) -> str:
    """The first cause in a line: 'straggler, rank 1: 70 % of a step'."""
    return diagnosis.first.title if diagnosis.first else "undecided"


def text(diagnosis: Diagnosis) -> str:
    """The whole diagnosis, a paragraph for each sentence."""
    sentences = [*_crowded_machine(diagnosis), *_causes(diagnosis), *_steps(diagnosis)]
    sentences += [f"Not decided: {sentence}" for sentence in diagnosis.undecided]
    return "\n".join(map(paragraph, sentences))


def _crowded_machine(diagnosis: Diagnosis) -> list[str]:
    """The sentence that comes first if ranks waited for a core most of the time; else none."""
    breakdown = diagnosis.breakdown
    if not lost_s(diagnosis) or not breakdown.is_starved:
        return []
    return [
        f"Crowded machine: a step takes {words.duration(breakdown.step_s)}, and for "
        f"{words.duration(breakdown.queued_s)} of it the ranks waited for a core. "
        f"{_whose_cores(diagnosis)}; what follows is about the other "
        f"{words.duration(breakdown.net_s)} of a step."
    ]


def _whose_cores(diagnosis: Diagnosis) -> str:
    """Say who occupies the cores that the ranks wait for, and what to do about it."""
    others = diagnosis.elsewhere or 0.0
    if others >= BUSY:
        return (
            f"Other programs had {percent(others)} of the ranks' cores: that is what "
            "makes it long. Close them, or give the ranks cores of their own, and ask again"
        )
    first = diagnosis.breakdown.reports[0]
    return (
        f"There are {words.plural(first.local, 'rank')} and {words.plural(first.cores, 'core')}: "
        "ask again with a core for each thread"
    )


def _causes(diagnosis: Diagnosis) -> list[str]:
    """Sentences on the first cause and its cure, and then on the others."""
    first, rest = diagnosis.first, diagnosis.causes[1:]
    lines = []
    if isinstance(first, Computing):
        lines.append(f"{first.title}. {_about_computing(first, rest)}")
    elif first:
        lines.append(first.says)
    if first:
        lines.append(f"Cure: {_advice(first)}")
    if costs := [cause for cause in rest if cause.share]:
        lines.append(f"Also seen: {'; '.join(map(_in_short, costs))}.")
        if isinstance(first, Computing):
            which = f" for {costs[0].name}" if len(costs) > 1 else ""
            lines.append(f"Cure{which}: {_advice(costs[0])}")
    for cause in (cause for cause in rest if not cause.share):
        lines += [f"Also seen: {cause.says}", f"Cure: {_advice(cause)}"]
    if diagnosis.fine:
        lines.append(
            f"Below {percent(SHOWN_SHARE)} of a step, so fine: {', '.join(diagnosis.fine)}."
        )
    return lines


def _about_computing(computing: Computing, rest: list[Cause]) -> str:
    if any(cause.share for cause in rest):
        if computing.share < MOSTLY and any(_is_large(cause) for cause in rest):
            where = " on a crowded machine" if computing.breakdown.is_crowded else ""
            return f"No fault is certain{where}. The other costs follow."
        if computing.share < MOSTLY:
            return "No fault is seen to cost much. The other costs follow."
        return "The ranks compute most of the time; what else costs something follows."
    if computing.is_nearly_all:
        verdict = "No time is lost" if rest else "Nothing is wrong"
        return f"{verdict}: the ranks compute nearly all the time."
    return "No single cause costs much."


def _is_large(cause: Cause) -> bool:
    """Whether a cause that is not a fault has a fault's share, and is not the price of a gain."""
    return cause.share >= FAULT_SHARE and not cause.is_tradeoff


def _advice(cause: Cause) -> str:
    """The cure of a cause, and the lab that teaches it."""
    return f"{cause.cure} Lab {cause.lab} teaches it." if cause.lab else cause.cure


def _in_short(cause: Cause) -> str:
    return ", ".join(filter(None, [cause.title, cause.location]))


def _steps(diagnosis: Diagnosis) -> list[str]:
    """Sentences on the steps behind the figures, and on what may have distorted them."""
    breakdown = diagnosis.breakdown
    steps = words.plural(len(breakdown.times), "step")
    ranks = words.plural(len(breakdown.reports), "rank")
    if breakdown.missing:
        ranks += f" of {breakdown.expected}"
    lines = [
        f"A step takes {words.duration(breakdown.step_s)}, the mean of {steps} on {ranks}"
        f"{_qualifier(diagnosis)}."
    ]
    start, first = diagnosis.epoch_start, diagnosis.first
    if start and not (first and start.comparison in first.says):
        lines.append(
            f"An epoch has a slow beginning: {start.comparison}. That is "
            f"{percent(start.share)} of all time."
        )
    if breakdown.watching_s >= SHOWN_SHARE * breakdown.step_s:
        lines.append(
            f"Watching itself took at least {words.duration(breakdown.watching_s)} of each step, "
            "which no figure counts."
        )
    others = diagnosis.elsewhere or 0.0
    if others >= BUSY and not breakdown.is_starved:
        lines.append(
            f"Other programs kept {percent(others)} of the ranks' cores busy: "
            "close them and ask again, if the answer is close."
        )
    return lines


def _qualifier(diagnosis: Diagnosis) -> str:
    """The end of a sentence: what part of a step no figure counts, or how it was recorded."""
    if diagnosis.unrecorded_s:
        before = words.duration(diagnosis.unrecorded_s)
        return f" while torch.profiler recorded the GPUs; before it did, {before}"
    if diagnosis.blind:
        return ", by the clock of the Python that feeds the GPUs"
    lost = lost_s(diagnosis)
    if not lost or diagnosis.breakdown.is_starved:  # then the first sentence says so already
        return ""
    return f"; for {words.duration(lost)} of it ranks waited for a core, which no share counts"


def lost_s(diagnosis: Diagnosis) -> float:
    """Seconds per step in which ranks waited for a core, which no share counts; 0 if negligible."""
    breakdown = diagnosis.breakdown
    lost = breakdown.queued_s
    return 0.0 if diagnosis.blind or lost < FAULT_SHARE * breakdown.step_s else lost
