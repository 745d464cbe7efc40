"""The numbers by which `why` decides; a table in how.md explains each."""

# Whether there is enough to judge.
MIN_STEPS = 3  # steps
STARVED = 0.4  # of a step: ranks that had cores for less of it were starved
BUSY = 0.2  # a machine is crowded if other programs use this share of the ranks' cores

# Which cause comes first, and which are shown.
FAULT_SHARE = 0.15  # of a step: a cause that costs less never comes first
FAULT_S = 1e-3  # seconds per step: a cause that costs less never comes first, either
CROWDED_FAULT_SHARE = 0.35  # of a step, for causes that a crowded machine can imitate
SHOWN_SHARE = 0.05  # of a step: a cause that costs less is not mentioned
CLEARLY_LARGER = 1.5  # times: if two causes differ by less, either may be the larger
MOSTLY = 0.5  # least share of computing for "most of the time"
NEARLY_ALL = 0.8  # least share of computing for "nothing is wrong"

# Which rank is late.
MIN_LATENESS = 0.05  # of a step: less is chance
STEADY_SHARE = 0.8  # of all lateness: at least this much in steps where the same rank is last
EXCESS_SHARE = 0.2  # of the largest excess: excess in another kind of work counts from here on
IN_TURNS = 0.3  # of a step: ranks that are late in turns must be late by this much
SOLE_RANK_SHARE = 0.9  # of a kind of work: one rank that does more than this does it alone

# Messages.
SMALL_BYTES = 1 << 17  # up to this size a message takes about the same time, however small it is
LOSS_BYTES = 64  # a message up to this size is a number such as the loss, not a part of the model
GRADIENT_LINE_SHARE = 0.1  # of the gradients' bytes: a line that sends this much sends gradients
CAP_IN_MEDIANS = 2.0  # times the median: the gradients of a step take no longer than this
OVERLAP_SHARE = 0.25  # of what could be hidden: if less is hidden, nothing counts as hidden
RARE_SHARE = 0.5  # of all steps: what the script sends in at most as many is not a fault
MEETING_SHARE = 0.5  # of lateness in turns, for which others wait; of waits, in the script's calls

# Samples.
SAME_BATCHES = 0.9  # of all steps: ranks that draw the same batch this often are not sharded
DISTINCT_SHARE = 0.5  # of a batch: if fewer of its samples differ, samples are not compared
MIN_SHARED_SAMPLES = 8  # judge only if two ranks that drew from all samples would share this many
SHARED_SHARE = 0.5  # of that many: two ranks that share fewer do not draw from all samples

# Epochs and the picture.
EPOCH_START_SHARE = 0.5  # of all waiting for input: from here on, the start of an epoch is slow
SHORT_SEGMENT = 0.004  # of a step: a shorter segment of the picture is merged into the one before
