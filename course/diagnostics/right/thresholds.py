"""The thresholds by which `right` decides; a table in how.md says what each is for."""

MAJORITY = 0.5  # of the steps, passes or samples: a difference in fewer is chance
EXACT = 1e-5  # of a gradient's largest value: two ranks' gradients that differ by less are equal
DISTINCT = 1e-3  # of the largest value: ranks whose own gradients differ by less do the same work
ROUNDING_16_BIT = 2e-2  # of a gradient's norm: the rounding error of messages with 16 bits
FACTOR = 2e-2  # of a factor: how far it may be from N, 1/N or k
ALIKE = 0.9  # of the gradients: if more have the same factor, it is judged
UNEVEN = 1.25  # times: if one target counts this much more than another, they count unequally
SAME = 0.9  # of the samples of a step: two ranks that share this many draw the same data
COMPARED = 3  # gradients, equal on all ranks, that show without samples that the data are the same
OFTEN = 0.8  # of the steps: the share in which two ranks must draw the same data
ENOUGH = 8  # samples that two ranks must share before an epoch is judged
MANY = 64  # samples that two ranks' streams must share before they are judged
REPEATS = 0.1  # of the shared part: at most this much may come again on one rank
BY_CHANCE = 0.5  # of what chance gives: how far from it the shared part may be
TOGETHER = 0.15  # of a pass: ranks that draw a sample this close in time read the same order
ALIVE = 3  # gradients that a parameter must have got, or steps with a rate of 0
CLOSER = 10  # times: how much better the mean over all targets must fit than the mean of means
ROUNDING_OF_ZERO = 1e-5  # of the largest gradient: what rounding leaves of one that is zero
SINCE = 2  # steps in which the mode or the precision must differ
