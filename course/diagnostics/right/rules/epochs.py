"""Rules on the samples that each rank draws in an epoch, and on the order of each epoch."""

from collections.abc import Sequence

from course.core import words
from course.diagnostics.finding import Finding
from course.diagnostics.numerics.training import LoaderPass
from course.diagnostics.right import causes, table
from course.diagnostics.right.evidence import Evidence
from course.diagnostics.right.rules import overlaps
from course.diagnostics.right.table import DIFFERS, EQUAL, NOT_SEEN, Result, Row, Rule, first_of
from course.diagnostics.right.thresholds import ENOUGH, SAME

DEALERS = ("RandomSampler", "DistributedSampler")  # samplers that give each sample once


def share(evidence: Evidence) -> Result:
    """Does each sample come exactly once in an epoch?"""
    if evidence.why_split:
        return [Row(table.SHARE, NOT_SEEN, evidence.why_split)]
    passes = evidence.all_training_passes
    if not passes:
        return [Row(table.SHARE, NOT_SEEN, "no DataLoader fed the training")]
    judges = (_repeats, _divided_twice, _wrong_replicas, _overlaps, overlaps.own_order,
              overlaps.one_stream)  # fmt: skip
    if found := first_of(table.SHARE, judges, evidence):
        return found
    if passes[0].replicas is not None:
        return [Row(table.SHARE, EQUAL, "a DistributedSampler deals each sample to one rank")]
    return [Row(table.SHARE, NOT_SEEN, "no DistributedSampler divides the data")]


def _repeats(evidence: Evidence) -> Finding | None:
    """Find a loader whose workers each return the whole stream."""
    for loader_pass in evidence.all_training_passes:
        if not loader_pass.stream or loader_pass.workers < 2:
            continue
        groups = [
            [tuple(batch) for batch in loader_pass.samples[at : at + loader_pass.workers]]
            for at in range(
                0, len(loader_pass.samples) - loader_pass.workers + 1, loader_pass.workers
            )
        ]
        groups = [group for group in groups if group[0]]
        if len(groups) > 1 and all(len(set(group)) == 1 for group in groups):
            if len({group[0] for group in groups}) == 1:
                continue  # constant data
            return causes.REPEATED_DATA.finding(
                f"Each of the {loader_pass.workers} workers gives the whole stream: every batch "
                f"comes {loader_pass.workers} times, one after the other.",
                "In the data set's __iter__, skip what belongs to other workers: "
                "torch.utils.data.get_worker_info() says which worker this is.",
                lab="04d",
                step=1,
                where=loader_pass.made_at,
            )
    return None


def _divided_twice(evidence: Evidence) -> Finding | None:
    for loader_pass in evidence.all_training_passes:
        if loader_pass.divided_twice:
            return causes.PART_OF_THE_DATA.finding(
                "accelerate divides the batches of a loader that a DistributedSampler has divided "
                f"already: an epoch sees one in {evidence.world_size} samples.",
                "Give accelerate a loader without DistributedSampler.",
                lab="07b",
                step=1,
                where=loader_pass.made_at,
            )
    mine = [
        loader_pass
        for loader_pass in evidence.training_passes(0)
        if loader_pass.replicas is not None and not loader_pass.workers
    ]
    samples = _samples_by_index(mine)
    if samples is None:
        return None
    for rank_index in range(1, evidence.world_size):
        theirs = [
            loader_pass
            for loader_pass in evidence.training_passes(rank_index)
            if loader_pass.length == mine[0].length
        ]
        both = [
            (sample, samples[index])
            for loader_pass in theirs
            for index, sample in zip(loader_pass.indices, _samples(loader_pass), strict=False)
            if index in samples
        ]
        if len(both) >= ENOUGH and not any(one == two for one, two in both):
            return causes.PART_OF_THE_DATA.finding(
                "The same index gives another sample on each rank, so each rank has a part of the "
                "data already, and a DistributedSampler divides it again: an epoch sees one in "
                f"{evidence.world_size} samples.",
                "Divide once: leave the data whole, or leave out the DistributedSampler.",
                step=1,
                where=mine[0].made_at,
            )
    return None


def _samples_by_index(passes: Sequence[LoaderPass]) -> dict[int, int] | None:
    """The sample that each index gives on a rank; None if unknown, or if it changes by chance."""
    samples: dict[int, int] = {}
    draws = 0
    for loader_pass in passes:
        for index, sample in zip(loader_pass.indices, _samples(loader_pass), strict=False):
            if samples.setdefault(index, sample) != sample:
                return None
            draws += 1
    return samples if draws - len(samples) >= ENOUGH else None


def _samples(loader_pass: LoaderPass) -> list[int]:
    return [sample for batch in loader_pass.samples for sample in batch]


def _wrong_replicas(evidence: Evidence) -> Finding | None:
    for loader_pass in evidence.all_training_passes:
        if (
            loader_pass.replicas is not None
            and loader_pass.replicas != evidence.world_size
            and not loader_pass.divided_twice
        ):
            too_many = loader_pass.replicas > evidence.world_size
            cause = causes.PART_OF_THE_DATA if too_many else causes.REPEATED_DATA
            return cause.finding(
                f"The DistributedSampler deals for {loader_pass.replicas} ranks, and there are "
                f"{evidence.world_size}.",
                "Leave out num_replicas and rank: the sampler finds both by itself.",
                step=1,
                where=loader_pass.made_at,
            )
    return None


def _overlaps(evidence: Evidence) -> Finding | None:
    """Find ranks that draw from the same samples without sharing them out."""
    for first, second in evidence.pairs:
        for mine, theirs in zip(
            evidence.training_passes(first), evidence.training_passes(second), strict=False
        ):
            if mine.kind not in DEALERS or mine.replaces or mine.length != theirs.length:
                continue
            if mine.framework:
                continue  # it deals, and repeats some at the end
            samples = _samples(mine), _samples(theirs)
            common = set(samples[0]) & set(samples[1])
            distinct = all(len(set(drawn)) > SAME * len(drawn) for drawn in samples)
            if len(common) < ENOUGH or not distinct or mine.samples == theirs.samples:
                continue
            if mine.seed != theirs.seed or not mine.shuffles or mine.replicas is None:
                if mine.epoch != theirs.epoch:
                    continue  # the rule on the order of epochs names it
                return causes.REPEATED_DATA.finding(
                    f"Ranks {evidence.ranks[first]} and {evidence.ranks[second]} have "
                    f"{words.plural(len(common), 'sample')} of the same epoch in common"
                    f"{_by_seed(mine, theirs)}: in an epoch some samples come several times.",
                    "Give all ranks a DistributedSampler with the same seed.",
                    step=1,
                    where=mine.made_at,
                )
    return None


def _by_seed(mine: LoaderPass, theirs: LoaderPass) -> str:
    if mine.replicas is None:
        return ", since each draws from all of the data"
    return f", since their samplers have the seeds {mine.seed} and {theirs.seed}"


def order(evidence: Evidence) -> Result:
    """Does each epoch have a new order, the same on all ranks?"""
    mine = evidence.training_passes(0)
    shuffled = [
        loader_pass
        for loader_pass in mine
        if loader_pass.kind == "DistributedSampler" and loader_pass.shuffles
    ]
    for ours, *others in evidence.training_passes_on_ranks:
        epochs = [ours.epoch, *[loader_pass.epoch for loader_pass in others]]
        if ours.replicas is not None and len(set(epochs)) > 1:
            finding = causes.ORDER_OF_EPOCHS.finding(
                f"The ranks' samplers are in different epochs ({evidence.by_rank(epochs)}), so "
                "they deal from different orders: some samples come twice, and others never.",
                "Call set_epoch(epoch) with the same number on all ranks.",
                lab="03",
                where=ours.opened_at,
            )
            return [Row(table.EPOCHS, DIFFERS, "the ranks set different epochs"), finding]
    by_sampler: dict[int, list[LoaderPass]] = {}
    for loader_pass in shuffled:
        by_sampler.setdefault(loader_pass.sampler, []).append(loader_pass)
    for passes in by_sampler.values():
        if len(passes) > 1 and len({loader_pass.epoch for loader_pass in passes}) == 1:
            finding = causes.ORDER_OF_EPOCHS.finding(
                f"The sampler dealt the same order in {len(passes)} epochs, since its epoch is "
                f"always {passes[0].epoch}.",
                "Call sampler.set_epoch(epoch) before each pass over the loader.",
                lab="04c",
                where=passes[0].opened_at,
            )
            return [Row(table.EPOCHS, EQUAL, f"the same in {len(passes)} epochs"), finding]
    if len(shuffled) > 1:
        return [Row(table.EPOCHS, DIFFERS, "each epoch has its own order, as it must")]
    return [Row(table.EPOCHS, NOT_SEEN, "no second epoch with a DistributedSampler began")]


RULES: tuple[Rule, ...] = (share, order)
