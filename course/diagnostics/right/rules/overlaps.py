"""Rules for scripts that deal out their data themselves: do the ranks draw separate parts?

Two ranks that draw the same samples may be right: they may draw with replacement, repeat samples on
purpose, or each use a part of a batch that all ranks have. These cases differ in how often, when
and in which batches the samples come.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from course.diagnostics.finding import Finding
from course.diagnostics.numerics.sample_choice import is_chosen
from course.diagnostics.numerics.training import LoaderPass
from course.diagnostics.right import causes
from course.diagnostics.right.evidence import Evidence
from course.diagnostics.right.thresholds import (
    BY_CHANCE,
    ENOUGH,
    MAJORITY,
    MANY,
    REPEATS,
    SAME,
    TOGETHER,
)


@dataclass(frozen=True)
class Overlap:
    """The samples that two ranks' passes have in common, estimated from a subset.

    `samples` is their number, and `share` their part of the pass with fewer samples. `repeats` is
    the share of draws that repeat a sample on the same rank. `distance` is how far apart the two
    ranks draw a sample (the median), relative to the length of the shorter pass.
    """

    samples: int
    share: float
    repeats: float
    distance: float

    @property
    def is_drawn_once(self) -> bool:
        """Whether each rank draws a sample once, up to a few repeats by chance."""
        return self.samples >= ENOUGH and self.repeats < REPEATS * self.share

    @property
    def is_in_step(self) -> bool:
        """Whether both ranks draw a sample at about the same time."""
        return self.distance < TOGETHER


def overlap(first: LoaderPass, second: LoaderPass) -> Overlap:
    """Compare two passes by the samples that a hash chose from each."""
    one_in = max(first.one_in, second.one_in)
    chosen = [
        [pair for pair in loader_pass.chosen if is_chosen(pair[0], one_in)]
        for loader_pass in (first, second)
    ]
    ours, theirs = (dict(reversed(pairs)) for pairs in chosen)  # each sample's first place
    if not ours or not theirs:
        return Overlap(0, 0.0, 0.0, 0.0)
    common = set(ours) & set(theirs)
    share = len(common) / min(len(ours), len(theirs))
    repeats = max(1 - len(ours) / len(chosen[0]), 1 - len(theirs) / len(chosen[1]))
    length = max(1, min(first.given, second.given))
    distances = [abs(ours[sample] - theirs[sample]) / length for sample in common]
    return Overlap(len(common) * one_in, share, repeats, median(distances) if common else 0.0)


def own_order(evidence: Evidence) -> Finding | None:
    """Find that the script's own sampler deals from a different order on each rank."""
    shared_out = [
        passes
        for passes in evidence.training_passes_on_ranks
        if all(map(_is_known, passes)) and _is_shared_out(passes)
    ]
    alike = [passes for passes in shared_out if _is_by_chance(passes)]
    if not evidence.is_tied or len(alike) <= MAJORITY * len(shared_out):
        return None
    first, second = alike[0][:2]
    share = overlap(first, second).share
    return causes.REPEATED_DATA.finding(
        f"The ranks deal an epoch out, {first.given:,} of {first.length:,} samples to rank "
        f"{evidence.ranks[0]}, but {100 * share:.0f} % of these also go to rank "
        f"{evidence.ranks[1]}, as many as chance would give: each rank takes its part of an "
        "order of its own. So some samples come several times in an epoch, and others never.",
        "Shuffle alike on all ranks before each takes its part, with a generator that is seeded "
        "with the epoch, such as random.Random(epoch).",
        step=1,
        where=first.made_at,
    )


def _is_known(loader_pass: LoaderPass) -> bool:
    """Whether the script's own sampler was watched to the end of an epoch."""
    return bool(loader_pass.chosen and not loader_pass.stream and loader_pass.is_over)


def _is_shared_out(passes: Sequence[LoaderPass]) -> bool:
    """Whether the ranks together draw about as many samples as there are."""
    length, drawn = passes[0].length, sum(loader_pass.given for loader_pass in passes)
    batch = max(loader_pass.given / max(1, loader_pass.drawn) for loader_pass in passes)
    slack = max(len(passes) * batch, (1 - SAME) * length)
    return len({loader_pass.length for loader_pass in passes}) == 1 and abs(drawn - length) <= slack


def _is_by_chance(passes: Sequence[LoaderPass]) -> bool:
    """Whether two ranks share about as many samples as if each drew its part independently."""
    overlaps = [overlap(*pair) for pair in combinations(passes, 2)]
    share = sum(pair.share for pair in overlaps) / len(overlaps)
    chance = 1 / len(passes)
    return abs(share - chance) < BY_CHANCE * chance and all(
        pair.is_drawn_once and not pair.is_in_step for pair in overlaps
    )


def one_stream(evidence: Evidence) -> Finding | None:
    """Find ranks that each read the whole stream, in slightly different orders."""
    for passes in evidence.training_passes_on_ranks:
        if not evidence.is_tied or not all(loader_pass.stream for loader_pass in passes):
            continue
        for indices in evidence.pairs:
            first, second = (passes[index] for index in indices)
            ranks = [evidence.ranks[index] for index in indices]
            pair = overlap(first, second)
            if pair.samples < MANY or _is_aligned(first, second):
                continue
            if pair.is_drawn_once and pair.is_in_step and pair.share >= SAME:
                return causes.REPEATED_DATA.finding(
                    f"Ranks {ranks[0]} and {ranks[1]} read the same stream: "
                    f"{100 * pair.share:.0f} % of the samples of one come on the other too, a "
                    "little earlier or later. Two ranks do the work of one.",
                    "Give each rank its part of the files or of the samples, and then each worker "
                    "its part of these: a shuffle with another seed does not divide them.",
                    lab="04d",
                    step=1,
                    where=first.made_at,
                )
    return None


def _is_aligned(first: LoaderPass, second: LoaderPass) -> bool:
    """Whether both have the same batches, of which each may use a part."""
    pairs = list(zip(first.samples, second.samples, strict=False))
    same = sum(set(ours) == set(theirs) for ours, theirs in pairs)
    return same > MAJORITY * len(pairs)
