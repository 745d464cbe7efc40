"""Rules on the samples that each rank computes on, and on the random numbers of its workers."""

from collections import Counter

from course.core import words
from course.diagnostics.finding import Finding
from course.diagnostics.numerics.training import LoaderPass
from course.diagnostics.right import causes, table
from course.diagnostics.right.evidence import Evidence
from course.diagnostics.right.table import DIFFERS, EQUAL, NOT_SEEN, Result, Row, Rule
from course.diagnostics.right.thresholds import COMPARED, MAJORITY, OFTEN, SAME


def samples(evidence: Evidence) -> Result:
    """Do two ranks compute on the same samples?"""
    if evidence.why_split:
        return [Row(table.SAMPLES, NOT_SEEN, evidence.why_split)]
    for first, second in evidence.pairs:
        share, compared = _same_share(evidence, first, second)
        if compared and share >= OFTEN:
            return _same_data(evidence, first, second, share)
    if any(_same_share(evidence, *pair)[1] for pair in evidence.pairs):
        row = Row(table.SAMPLES, DIFFERS, "each rank has samples of its own, as it must")
    elif _has_equal_gradients(evidence):
        return _same_data(evidence, 0, 1, 1.0)
    else:
        row = Row(table.SAMPLES, NOT_SEEN, "the model's input has no rows that tell samples apart")
    noise = _same_noise(evidence)
    return [row, noise] if noise else [row]


def _same_share(evidence: Evidence, first: int, second: int) -> tuple[float, int]:
    """The share of steps in which two ranks have the same samples, and the number compared."""
    same = compared = 0
    for step_on_ranks in evidence.steps_on_ranks:
        ours, theirs = (
            [r for backward_pass in step_on_ranks[rank_index].passes for r in backward_pass.samples]
            for rank_index in (first, second)
        )
        if not ours or not theirs or len(set(ours)) <= MAJORITY * len(ours):
            continue
        common = sum((Counter(ours) & Counter(theirs)).values())
        compared += 1
        same += common >= SAME * max(len(ours), len(theirs))
    return same / compared if compared else 0.0, compared


def _has_equal_gradients(evidence: Evidence) -> bool:
    """Whether the ranks' own gradients are the same in all sampled steps."""
    kinds = evidence.used_kinds
    return len(kinds) >= COMPARED and not any(kind.distinct for kind in kinds)


def _same_data(evidence: Evidence, first: int, second: int, share: float) -> Result:
    loader_pass = evidence.first_training_pass
    ranks = [evidence.ranks[first], evidence.ranks[second]]
    where = loader_pass.made_at if loader_pass else _call_line(evidence)
    finding = causes.SAME_DATA.finding(
        f"Ranks {ranks[0]} and {ranks[1]} compute on the same samples in {100 * share:.0f} % of "
        "the steps. Two ranks do the work of one, and the batch is smaller than you think.",
        _cure(loader_pass),
        step=1,
        where=where,
    )
    return [Row(table.SAMPLES, EQUAL, f"ranks {ranks[0]} and {ranks[1]} draw the same"), finding]


def _cure(loader_pass: LoaderPass | None) -> str:
    if loader_pass is None:
        return "Draw from a generator that is seeded with the rank as well, or divide the data."
    if loader_pass.stream:
        return "Let the stream skip what belongs to other ranks and other workers."
    if loader_pass.replicas is not None:
        return "Give DistributedSampler this process's own rank, or none, so that it finds it."
    return "Give the DataLoader a DistributedSampler, and call its set_epoch in each epoch."


def _call_line(evidence: Evidence) -> str:
    passes = [
        backward_pass
        for step_on_ranks in evidence.steps_on_ranks
        for backward_pass in step_on_ranks[0].passes
    ]
    return next((backward_pass.called for backward_pass in passes if backward_pass.called), "")


def _same_noise(evidence: Evidence) -> Finding | None:
    """Do the loader workers of two ranks draw the same random numbers for their samples?"""
    by_state: dict[tuple[int, str, int], set[int]] = {}
    for report in evidence.reports:
        for worker in report.workers:
            state = worker.number, worker.kind, worker.state
            by_state.setdefault(state, set()).add(report.rank)
    shared = {key: ranks for key, ranks in by_state.items() if len(ranks) > 1}
    loader_pass = evidence.first_training_pass
    if not shared or loader_pass is None or loader_pass.framework:
        return None
    (number, kind, _), ranks = next(iter(shared.items()))
    return causes.SAME_DATA.finding(
        f"Worker {number} of the loader begins with the same random state ({kind}) on "
        f"{words.ranks(ranks)}, and the data set draws from it: the random augmentations of the "
        "ranks are equal, though their samples differ.",
        "After the model is built, seed with seed + rank, or give the DataLoader a generator of the"
        " rank's own.",
        lab="04e",
        step=1,
        where=loader_pass.made_at,
    )


RULES: tuple[Rule, ...] = (samples,)
