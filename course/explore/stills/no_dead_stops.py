"""One of four ranks is killed: with DDP all ranks start again, in rounds the others go on."""

from course.charts import Training, draw_training
from course.drawing import Picture

RANKS, KILLED_RANK = range(4), 2  # the rank that is killed
ROUND_S, MEETING_S = 2.0, 0.15  # in seconds: a round's local steps, and the meeting after them
KILLED_S, BACK_S, END_S = 5.0, 11.0, 15.0  # moments in seconds
DEADLINE_S = 1.5  # the seconds for which the others wait


def both_ways() -> Picture:
    """Draw the same death of a rank, with DDP and in rounds."""
    return draw_training(
        {"DDP, torchrun starts all of them again": _ddp(), "In rounds": _rounds()},
        "With DDP all stop; in rounds the others wait once, and go on",
        "A drawing, not a measurement. Rank 2 is killed after 5 s, and is there again after 11 s",
    )


def _ddp() -> Training:
    stretches = [(0.0, KILLED_S), (BACK_S, END_S)]
    return Training(dict.fromkeys(RANKS, stretches), {KILLED_RANK: KILLED_S})


def _rounds() -> Training:
    ends, begin, waited = [], 0.0, False
    while begin < END_S:
        end = min(begin + ROUND_S, END_S)
        ends.append((begin, end))
        begin = end + MEETING_S
        if end > KILLED_S and not waited:  # the others do not know yet, and wait for it
            begin, waited = end + DEADLINE_S, True
    before_death = [(first, min(last, KILLED_S)) for first, last in ends if first < KILLED_S]
    after_return = [stretch for stretch in ends if stretch[0] >= BACK_S]
    return Training(
        dict.fromkeys(RANKS, ends) | {KILLED_RANK: before_death + after_return},
        {KILLED_RANK: KILLED_S},
    )
