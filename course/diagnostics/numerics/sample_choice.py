"""On a rank: choose a subset of the samples in a pass over a loader, by the same rule on all ranks.

A hash chooses, so a sample that two ranks draw is chosen on both or on neither. Therefore the
subsets of two ranks overlap by the same share as all their samples, however long the pass is.
"""

from collections.abc import Iterable

from course.diagnostics.numerics.training import LoaderPass

MAX_SAMPLES = 1024  # samples that are kept from a pass
MAX_ONE_IN = 2**24  # choose at least one in this many: equal values would never become fewer
MULTIPLIER, MASK = 0x9E3779B97F4A7C15, 2**64 - 1


def is_chosen(value: int, one_in: int) -> bool:
    """Whether a sample is chosen when one in `one_in` is."""
    return ((value * MULTIPLIER & MASK) >> 32) % one_in == 0


def choose(loader_pass: LoaderPass, values: Iterable[int]) -> None:
    """Add the chosen samples of a batch; if there are too many, choose half as many of all."""
    loader_pass.chosen += [
        (value, loader_pass.given) for value in values if is_chosen(value, loader_pass.one_in)
    ]
    while len(loader_pass.chosen) > MAX_SAMPLES and loader_pass.one_in < MAX_ONE_IN:
        loader_pass.one_in *= 2
        loader_pass.chosen = [
            pair for pair in loader_pass.chosen if is_chosen(pair[0], loader_pass.one_in)
        ]
    del loader_pass.chosen[MAX_SAMPLES:]
