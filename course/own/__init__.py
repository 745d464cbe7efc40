"""One's own script: where it hangs, why it is slow, whether it is right, on which GPUs it fits.

Each of these imports only from those above it:

finding      what can be named, and the one form in which all questions answer
watch        in each process: its stacks and its collectives; plain data, files for each process
profiling    on a rank: the time of its steps, slice by slice; a file for each rank
numerics     on a rank: weights, gradients, samples, settings; a file for each rank
hang         plain data of all ranks in, why a run cannot go on or has failed out
slow         plain data of all ranks in, causes out
right        plain data of all ranks in, findings and a table out
say          findings for people and programs, and the options of the four questions
fit          a rehearsal on tensors without memory, what it needs on each GPU out
watched_run  a run in a notebook, whose processes are watched
session      the same in a terminal; `shared` if several commands make one run
deep         two runs in a terminal, on several ranks and on one process, compared
terminal     the tools as commands in a terminal

Every process of a watched command imports from here and must start as fast as without. So a name
is looked up when it is asked for.
"""

from importlib import import_module

_HOMES = {
    "Answer": "say.answer",
    "Cause": "slow.cause",
    "Comparison": "say.comparison",
    "Finding": "finding",
    "Ending": "hang.ending",
    "answer": "say.answer",
    "answered": "say.answer",
    "compared": "say.comparison",
    "fit_answer": "fit.answer",
    "options": "say",
    "report": "say",
    "reports": "say.answer",
    "terminal": "",
    "watch_ranks": "watched_run",
    "watched": "watched_run",
    "NUMERICS": "watch.process",
}

__all__ = [
    "NUMERICS",
    "Answer",
    "Cause",
    "Comparison",
    "Ending",
    "Finding",
    "answer",
    "answered",
    "compared",
    "fit_answer",
    "options",
    "report",
    "reports",
    "terminal",
    "watch_ranks",
    "watched",
]


def __getattr__(name: str) -> object:
    """A name of this face, from the module that has it; or that module itself."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = ".".join(filter(None, [__name__, _HOMES[name]]))
    if name in ("options", "report", "terminal"):
        return import_module(f"{home}.{name}")
    return getattr(import_module(home), name)
