"""The verdict in words: ten lines that a newcomer understands."""

from textwrap import wrap

from course.core import words
from course.own.slow import of_setup
from course.own.slow.cause import KNOWN, SPLIT_CURE, SPLIT_LAB, Cause
from course.own.slow.of_messages import of_split_layers
from course.own.slow.verdict import BUSY, MATTERS, NEARLY_ALL, SEARCH, SHOWN, Verdict

WIDTH = 100
MESSAGES = {"latency", "no overlap", "accumulation"}


def title(cause: Cause | None) -> str:
    """The cause in a line: 'straggler, rank 1: 70 % of a step'."""
    if cause is None:
        return "undecided"
    rank = "" if cause.rank is None else f", rank {cause.rank}"
    return f"{cause.cause}{rank}: {percent(cause.share)} of a step"


def percent(share: float) -> str:
    """A share as one says it: '31 %'."""
    return f"{100 * share:.0f} %" if share >= 0.01 else "less than 1 %"


def text(verdict: Verdict) -> str:
    """All of it, in lines of at most `WIDTH` characters."""
    paragraphs = [*_first(verdict), *_more(verdict)]
    lines = [
        line
        for paragraph in paragraphs
        for line in wrap(paragraph, WIDTH, subsequent_indent="    ", break_long_words=False)
    ]
    return "\n".join(lines)


def _first(verdict: Verdict) -> list[str]:
    """The cause to cure first, and its cure."""
    if cause := verdict.first:
        known = KNOWN[cause.cause]
        split = cause.cause in ("latency", "bandwidth") and of_split_layers(verdict.budget)
        cure = SPLIT_CURE if split else known.cure
        lab = SPLIT_LAB if split else known.lab
        return [_verdict(verdict, cause), f"Cure: {cure} Lab {lab} teaches it."]
    return []


def _verdict(verdict: Verdict, cause: Cause) -> str:
    net = verdict.budget.net_s
    what = KNOWN[cause.cause].seen
    if cause.cause == "computing":
        if cause.share < NEARLY_ALL:
            what = "no single cause costs much"
        return f"{title(cause)}. {what[0].upper()}{what[1:]}."
    parts = f"{title(cause)}, {_place(cause)}." if _place(cause) else f"{title(cause)}."
    if cause.cause == SEARCH:
        return (
            f"{parts} {what[0].upper()}{what[1:]}, and all were used in every step watched. "
            "This is what is seen of it at the least."
        )
    if cause.cause == "not sharded":
        world = verdict.budget.ranks[0].world
        gain = f"With shares of its own, an epoch takes {world} times fewer steps."
    elif cause.cause == "threads":
        rank = verdict.budget.ranks[0]
        gain = (
            f"Here {rank.local} ranks of {rank.threads} threads each share "
            f"{words.plural(rank.cores, 'core')}. How much faster fewer are, only a run tells."
        )
    else:
        short = words.duration(net * (1 - cause.share))
        times = 1 / max(1e-3, 1 - cause.share)
        gain = (
            f"Without it a step would take {short} in place of {words.duration(net)}: "
            f"{times:.2g} times as fast at most."
        )
    return f"{parts} {what[0].upper()}{what[1:]}. {gain}"


def _place(cause: Cause) -> str:
    """Where it lies: the part of the step, the line of the user's."""
    part = "" if cause.where == cause.line else _part(cause.where)
    return ", ".join(filter(None, [part, f"at {cause.line}" if cause.line else ""]))


def _part(where: str) -> str:
    return where if where.startswith("outside") else f"in {where}"


def _more(verdict: Verdict) -> list[str]:
    budget = verdict.budget
    lines = []
    if rest := verdict.causes[1:]:
        others = [", ".join(filter(None, [title(each), _place(each)])) for each in rest]
        lines.append(f"Also seen: {'; '.join(others)}.")
    if not verdict.blind:
        found = {cause.cause for cause in verdict.causes} | _unseen(verdict)
        fine = [known.fine for name, known in KNOWN.items() if known.fine and name not in found]
        lines.append(f"Below {percent(SHOWN)} of a step, so fine: {', '.join(fine)}.")
    watched = words.plural(len(budget.steps), "step")
    ranks = words.plural(len(budget.ranks), "rank")
    lines.append(
        f"A step takes {words.duration(budget.step_s)}, the mean of {watched} on {ranks}"
        f"{_apart(verdict)}."
    )
    if budget.watching_s >= SHOWN * budget.step_s:
        lines.append(
            f"Watching took at least {words.duration(budget.watching_s)} of each step beside, "
            "which is left out of all figures."
        )
    if verdict.elsewhere > BUSY:
        lines.append(
            f"Other programs kept {percent(verdict.elsewhere)} of this machine's cores busy: "
            "close them and ask again, if the answer is close."
        )
    return lines + [f"Not decided: {sentence}" for sentence in verdict.undecided]


def _unseen(verdict: Verdict) -> set[str]:
    """The causes that are not called fine: what they are made of was not there, or is not."""
    budget = verdict.budget
    unseen = {"bandwidth"} if MESSAGES & {cause.cause for cause in verdict.causes} else set()
    on_gpus = any(rank.device == "cuda" for rank in budget.ranks)
    unseen.add("threads" if on_gpus else "copies")
    if not budget.mean_own("input"):
        unseen.add("input")
    if of_setup.same_samples(budget) is None:
        unseen.add("not sharded")
    if not any(ddp["buffers"] for ddp in budget.ranks[0].ddp):
        unseen.add("buffers")
    return unseen


def _apart(verdict: Verdict) -> str:
    """What of the time by the clock is left out of all figures, and what recording takes."""
    budget = verdict.budget
    if verdict.unrecorded_s:
        before = words.duration(verdict.unrecorded_s)
        return f" while torch.profiler recorded the GPUs; before it did, {before}"
    if verdict.blind:
        return ", by the clock of the Python that feeds the GPUs"
    lost = budget.step_s - budget.net_s
    if lost < MATTERS * budget.step_s:
        return ""
    return f"; for {words.duration(lost)} of it ranks waited for a core, which no share counts"
