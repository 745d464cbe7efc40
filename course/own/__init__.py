"""One's own script on several ranks: watch it unchanged, and say where its time goes.

watch    on a rank: hooks, clocks, samples, stacks; plain data, a file for each rank
slow     plain data of all ranks in, causes out
say      findings for people and programs
finding  the one form that all questions answer in
"""

from course.own.finding import Finding
from course.own.say import options
from course.own.say.answer import Answer, answered
from course.own.slow.cause import KNOWN, Cause
from course.own.watch.watching import watch

__all__ = ["KNOWN", "Answer", "Cause", "Finding", "answered", "options", "watch"]
