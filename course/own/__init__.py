"""One's own script: where it hangs, why it is slow, whether it is right, on which GPUs it fits.

Each of these imports only from those above it; CONTRIBUTING.md lists the folders in this order.

finding      what can be named, and the one form in which all questions answer
watch        records in each process where it stands, and its collectives
profiling    records on a rank how long each part of a step takes
numerics     records on a rank its weights, gradients, samples and settings
hang         decides from the data of all ranks why a run cannot go on, or why it has failed
slow         finds in the data of all ranks the causes of a long step
right        finds in the data of all ranks what is wrong, and makes a table of what was compared
say          shows findings to people and programs, and reads the options of the four questions
fit          rehearses on tensors without memory, and adds up what each GPU needs
watched_run  runs a command in a notebook, and has its processes watched
session      does the same in a terminal, with `shared` if several commands make one run
deep         compares two runs in a terminal: on several ranks, and on one process
terminal     makes the tools commands of a terminal

Every process of a watched command imports this package, and must start as fast as an unwatched one.
So a name is imported when it is first used.
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
    """A name of this face from the module that has it, or that module itself."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = ".".join(filter(None, [__name__, _HOMES[name]]))
    if name in ("options", "report", "terminal"):
        return import_module(f"{home}.{name}")
    return getattr(import_module(home), name)
