"""One of four ranks is killed: with DDP all ranks start again, in rounds the others go on."""

from course.charts import Training, draw_training
from course.drawing import Picture

RANKS, FATAL = range(4), 2  # the rank that is killed
ROUND, MEETING = 2.0, 0.15  # in seconds: a round's local steps, and the meeting after them
KILLED, BACK, END = 5.0, 11.0, 15.0  # moments in seconds
DEADLINE = 1.5  # the seconds for which the others wait


def both_ways() -> Picture:
    """Draw the same death of a rank, with DDP and in rounds."""
    return draw_training(
        {"DDP, torchrun starts all of them again": _ddp(), "In rounds": _rounds()},
        "With DDP all stop; in rounds the others wait once, and go on",
        "A drawing, not a measurement. Rank 2 is killed after 5 s, and is there again after 11 s",
    )


def _ddp() -> Training:
    stretches = [(0.0, KILLED), (BACK, END)]
    return Training(dict.fromkeys(RANKS, stretches), {FATAL: KILLED})


def _rounds() -> Training:
    ends, begin, waited = [], 0.0, False
    while begin < END:
        end = min(begin + ROUND, END)
        ends.append((begin, end))
        begin = end + MEETING
        if end > KILLED and not waited:  # the others do not know yet, and wait for it
            begin, waited = end + DEADLINE, True
    lost = [(first, min(last, KILLED)) for first, last in ends if first < KILLED]
    back = [stretch for stretch in ends if stretch[0] >= BACK]
    return Training(dict.fromkeys(RANKS, ends) | {FATAL: lost + back}, {FATAL: KILLED})
