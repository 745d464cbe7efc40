"""All numbers by which `why` decides; how.md says in a table what each is for."""

# What is enough to judge.
MIN_STEPS = 3  # steps
STARVED = 0.4  # of a step: ranks that ran for a smaller part of it were starved
BUSY = 0.2  # a machine is crowded if other programs have this share of the ranks' cores

# Which cause is the first, which is shown.
FAULT_SHARE = 0.15  # of a step: what costs less never comes first
FAULT_S = 1e-3  # seconds per step: what costs less never comes first, either
CROWDED_FAULT_SHARE = 0.35  # of a step, on a crowded machine, for what the crowd can look like
SHOWN_SHARE = 0.05  # of a step: what costs less is not mentioned
CLEARLY_LARGER = 1.5  # times: two causes that differ by less cannot be told apart by size
MOSTLY = 0.5  # least share of computing for "most of the time"
NEARLY_ALL = 0.8  # least share of computing for "nothing is wrong"

# Which rank is late.
MIN_LATENESS = 0.05  # of a step: what is smaller is chance
STEADY_SHARE = 0.8  # least part of all lateness, in steps where the same rank is last
EXCESS_SHARE = 0.2  # of its largest excess: another kind of work with as much counts, too
IN_TURNS = 0.3  # of a step, where each time another rank is late
SOLE_RANK_SHARE = 0.9  # least part of a kind of work for one rank to have it alone

# Messages.
SMALL_BYTES = 1 << 17  # bytes: up to here a message takes about the same time, however small it is
LOSS_BYTES = 64  # bytes: a number or a few, such as the loss, are not the model's
GRADIENT_LINE_SHARE = 0.1  # of their bytes, sent by a line in a step: it sends gradients
CAP_IN_MEDIANS = 2.0  # times the median, which the gradients of a step take at most
OVERLAP_SHARE = 0.25  # of what could be hidden: if less is, nothing counts as hidden
MEETING_SHARE = 0.5  # least part of lateness in turns to cost a wait; of waits, in own meetings

# Samples.
SAME_BATCHES = 0.9  # of all steps, in which ranks draw the same batch
MIN_SHARED_SAMPLES = 8  # samples that two ranks would have in common if both drew from all

# Epochs and the picture.
EPOCH_START_SHARE = 0.5  # of all waiting for input, in the first step of an epoch
SHORT_STRETCH = 0.004  # of a step: a shorter stretch of the picture goes to the one before it
