"""Why a training on several ranks takes the time it takes: watch anyone's script, and say it.

on a rank    on_rank, hooks, ddp, samples, lines, clocks, gpus, recorder: see what a script does
between      timeline: what a rank tells, as plain data; devices: what its GPU did
afterwards   budget, of_work, of_messages, of_setup, cause, verdict: find the causes
for people   typical, said, answer
"""

from course.why.answer import Answer, answered
from course.why.cause import KNOWN, Cause
from course.why.watching import watch

__all__ = ["KNOWN", "Answer", "Cause", "answered", "watch"]
