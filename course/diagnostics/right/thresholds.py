"""All numbers by which `right` decides; how.md says in a table what each is for."""

MAJORITY = 0.5  # of steps, passes or samples: what is seen in fewer is chance, as a last batch
EXACT = 1e-5  # of a gradient: equal on two ranks
DISTINCT = 1e-3  # of a gradient: if two ranks' own differ by more, they did not do the same work
ROUNDING_16_BIT = 2e-2  # of a gradient: what 16 bits lose on the way
FACTOR = 2e-2  # of a factor: from N, from 1/N, from k
UNEVEN = 1.25  # times: from here on, targets count more than others
SAME = 0.9  # of the samples of a step
OFTEN = 0.8  # of the steps, in which ranks draw the same
ENOUGH = 8  # samples that two ranks have in common
MANY = 64  # samples of a stream that two ranks have in common
REPEATS = 0.1  # of what ranks have in common: at most so much may come again on one of them
BY_CHANCE = 0.5  # of what chance gives: how far from it two ranks' common samples may be
TOGETHER = 0.15  # of a pass: how far apart two ranks draw a sample, if they read one order
ALIVE = 3  # gradients that a parameter must have got, steps that a rate must have been 0
CLOSER = 10  # how many times better the mean over all targets must fit than the mean of means
ROUNDING_OF_ZERO = 1e-5  # of the largest gradient: what rounding leaves of one that is zero
SINCE = 2  # steps in which the mode or the precision differs
