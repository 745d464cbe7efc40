"""Rules on what an evaluation counts: each sample once, only a share, or repeated samples."""

from collections.abc import Sequence

from course.core import words
from course.diagnostics.finding import Finding
from course.diagnostics.numerics.training import LoaderPass
from course.diagnostics.right import causes, table
from course.diagnostics.right.evidence import Evidence
from course.diagnostics.right.table import EQUAL, NOT_SEEN, Result, Row, Rule, first_of
from course.diagnostics.right.thresholds import MAJORITY

ACCELERATE = "accelerate"


def evaluation(evidence: Evidence) -> Result:
    """Does an evaluation count each sample exactly once?"""
    by_rank = [list(filter(_is_evaluation, report.loader_passes)) for report in evidence.reports]
    if not any(by_rank):
        says = "no pass over a loader was seen that only evaluates"
        return [Row(table.EVALUATION, NOT_SEEN, says)]
    first = next(filter(None, by_rank))[0]
    if evidence.why_split or first.framework not in ("", ACCELERATE):
        says = evidence.why_split or f"{first.framework} divides it, and can drop what it repeats"
        return [Row(table.EVALUATION, NOT_SEEN, says)]
    judges = (_counts_repeats,) if first.framework else (
        _only_one_rank, _not_added_up, _sums_repeats, _counts_repeats
    )  # fmt: skip
    return first_of(table.EVALUATION, judges, evidence, by_rank) or [_row(evidence, by_rank)]


def _is_evaluation(loader_pass: LoaderPass) -> bool:
    """Whether a pass is a whole evaluation: it ended, and models ran only without gradients."""
    return bool(loader_pass.evaluation.calls and loader_pass.is_over and not loader_pass.batches)


def _is_dealt(evidence: Evidence, loader_pass: LoaderPass) -> bool:
    """Whether a sampler gives this rank a share of known size."""
    return (
        loader_pass.replicas == evidence.world_size
        and bool(loader_pass.length and loader_pass.total)
        and not loader_pass.divided_twice
    )


def _share(evidence: Evidence, loader_pass: LoaderPass) -> str:
    share = loader_pass.total // evidence.world_size
    return f"{share:,} of {words.plural(loader_pass.length, 'sample')}"


def _only_one_rank(evidence: Evidence, by_rank: Sequence[list[LoaderPass]]) -> Finding | None:
    """Find that only one rank evaluates, and only the share that its sampler gave it."""
    rank_indices = [rank_index for rank_index, passes in enumerate(by_rank) if passes]
    if len(rank_indices) > 1:
        return None
    rank, first = evidence.ranks[rank_indices[0]], by_rank[rank_indices[0]][0]
    if not _is_dealt(evidence, first) or first.evaluation.messages:
        return None
    return causes.EVALUATION.finding(
        f"Only rank {rank} evaluates, and its sampler gives it a share: the result is that of "
        f"{_share(evidence, first)}.",
        "Give the loader of an evaluation on one rank no DistributedSampler, or evaluate on all "
        "ranks and add up sums and counts.",
        rank=rank,
        where=first.opened_at,
    )


def _not_added_up(evidence: Evidence, by_rank: Sequence[list[LoaderPass]]) -> Finding | None:
    """Find that each rank evaluates a share, none sends anything, and one reports its result."""
    passes = list(zip(*by_rank, strict=False))
    reporters = []
    for on_ranks in passes:
        reports = [loader_pass.evaluation.reports for loader_pass in on_ranks]
        dealt = all(_is_dealt(evidence, loader_pass) for loader_pass in on_ranks)
        distinct = len({loader_pass.rank for loader_pass in on_ranks}) == evidence.world_size
        if dealt and distinct and sum(map(bool, reports)) == 1:
            reporters.append(on_ranks[reports.index(max(reports))])
    if any(loader_pass.evaluation.messages for on_ranks in passes for loader_pass in on_ranks):
        return None
    writers = [report.rank for report in evidence.reports if report.written]
    if not reporters or len(reporters) <= MAJORITY * len(passes) or len(writers) > 1:
        return None
    rank = reporters[0].rank
    return causes.EVALUATION.finding(
        f"Each rank evaluates its own share, {_share(evidence, reporters[0])}, and nothing is sent "
        f"before rank {rank} reports: its result is that of its share alone.",
        "All-reduce the sums and the count of samples, then divide.",
        rank=rank,
        where=reporters[0].opened_at,
    )


def _sums_repeats(evidence: Evidence, by_rank: Sequence[list[LoaderPass]]) -> Finding | None:
    """Find that the ranks sum a count that includes repeated samples."""
    for passes in by_rank:
        for loader_pass in passes:
            repeats = loader_pass.total - loader_pass.length
            sums = loader_pass.evaluation.sums
            if not _is_dealt(evidence, loader_pass) or repeats <= 0:
                continue
            if loader_pass.total not in sums or loader_pass.length in sums:
                continue
            return causes.EVALUATION.finding(
                f"The evaluation counts {loader_pass.total:,} samples, and there are "
                f"{loader_pass.length:,}: the sampler repeats {repeats}, so that all ranks have as "
                "many.",
                "Give each rank its share without repeats, such as "
                "range(rank, len(data), world_size), and add up sums and counts.",
                where=loader_pass.opened_at,
            )
    return None


def _counts_repeats(evidence: Evidence, by_rank: Sequence[list[LoaderPass]]) -> Finding | None:
    """Find that the ranks gather their results, and the script counts repeated samples too."""
    for passes in zip(*by_rank, strict=False):
        loader_pass, total = passes[0], sum(p.given for p in passes)
        if any(p.stream or p.evaluation.cuts or not p.evaluation.messages for p in passes):
            continue
        counted = {number for p in passes for number in p.evaluation.counted}
        if (
            0 < loader_pass.length < total
            and total in counted
            and loader_pass.length not in counted
        ):
            return causes.EVALUATION.finding(
                f"The evaluation counts {total:,} samples, and there are {loader_pass.length:,}: "
                f"{total - loader_pass.length} were repeated, so that all ranks have as many, and "
                "none is dropped once they are gathered.",
                "Gather with accelerator.gather_for_metrics, which drops what was repeated."
                if loader_pass.framework
                else "Keep as many of the gathered samples as there are.",
                lab="07b" if loader_pass.framework else "04",
                where=loader_pass.opened_at,
            )
    return None


def _row(evidence: Evidence, by_rank: Sequence[list[LoaderPass]]) -> Row:
    """The row for an evaluation without a finding."""
    firsts = [passes[0] for passes in by_rank if passes]
    loader_pass = firsts[0]
    if loader_pass.framework:
        if all(
            first.evaluation.cuts and first.length in first.evaluation.counted for first in firsts
        ):
            says = f"{words.plural(loader_pass.length, 'sample')} are counted, each once"
            return Row(table.EVALUATION, EQUAL, says)
        says = f"{loader_pass.framework} divides it, and can drop what it repeats"
        return Row(table.EVALUATION, NOT_SEEN, says)
    count = words.plural(loader_pass.length, "sample")
    if all(_is_dealt(evidence, first) for first in firsts) and len(firsts) == evidence.world_size:
        repeats = loader_pass.total - loader_pass.length
        if repeats > 0:
            says = f"the sampler repeats {repeats}; whether they count is not seen"
            return Row(table.EVALUATION, NOT_SEEN, says)
        if not all(first.evaluation.messages for first in firsts):
            return Row(table.EVALUATION, NOT_SEEN, "each rank has a share, and nothing was sent")
        if repeats < 0:
            says = f"{loader_pass.total:,} of {count}; a second loader may have the rest"
            return Row(table.EVALUATION, NOT_SEEN, says)
        return Row(table.EVALUATION, EQUAL, f"each of the {count} on one rank, and sent")
    if all(
        first.kind == "SequentialSampler" and first.length == loader_pass.length for first in firsts
    ):
        who = "each rank" if len(firsts) == evidence.world_size else "one rank"
        return Row(table.EVALUATION, EQUAL, f"{who} evaluates {count}, all that its loader has")
    return Row(table.EVALUATION, NOT_SEEN, "how the samples are divided is up to the script")


RULES: tuple[Rule, ...] = (evaluation,)
