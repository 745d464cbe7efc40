"""On a rank: choose some of the samples that a pass over a loader gives, on all ranks alike.

A hash chooses, so a sample that two ranks draw is chosen on both or on neither. So the chosen
samples of two ranks overlap by the same share as all their samples, however long the pass is.
"""

from collections.abc import Iterable

from course.diagnostics.numerics.training import LoaderPass

MOST = 1024  # samples of a pass that are kept
RAREST = 2**24  # one in so many: values that are all alike would never become fewer
MIX, WORD = 0x9E3779B97F4A7C15, 2**64 - 1


def is_chosen(value: int, one_in: int) -> bool:
    """Whether a sample is chosen, if one in that many is."""
    return ((value * MIX & WORD) >> 32) % one_in == 0


def choose(loader_pass: LoaderPass, values: Iterable[int]) -> None:
    """Add the chosen samples of a batch. Once there are too many, choose fewer of all."""
    loader_pass.chosen += [
        (value, loader_pass.given) for value in values if is_chosen(value, loader_pass.one_in)
    ]
    while len(loader_pass.chosen) > MOST and loader_pass.one_in < RAREST:
        loader_pass.one_in *= 2
        loader_pass.chosen = [
            pair for pair in loader_pass.chosen if is_chosen(pair[0], loader_pass.one_in)
        ]
    del loader_pass.chosen[MOST:]
