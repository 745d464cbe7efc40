"""Diagnose a user's own script: where it hangs, why it is slow, if it is right, where it fits.

Each entry imports only from those above it; CONTRIBUTING.md lists the folders in the same order.

finding      the causes that can be named, and the form of a finding that all tools share
watch        records in each process where its threads stand, and its collectives
profiling    records on a rank how long each part of a step takes
numerics     records on a rank its weights, gradients, samples and settings
run          finds in the data of all ranks why a run is stuck or has failed
why          finds in the data of all ranks what makes a step slow
right        finds in the data of all ranks what is wrong, and makes a table of what was compared
answers      shows findings to people and programs, and parses the options of the four tools
fit          rehearses a script on tensors without memory, and adds up what each GPU needs
watched_run  runs a command from a notebook, while its processes are watched
terminal_run does the same in a terminal, with `shared` if several commands make one run
deep         compares two runs in a terminal: on several ranks, and on one process
terminal     the four tools as terminal commands

Every process of a watched command imports this package, and must start as fast as an unwatched one.
So each public name is imported only when it is first used.
"""

from importlib import import_module

# The public names, and the module that has each.
_NAMES = {
    "NUMERICS": "watch.process",
    "WatchedRun": "watched_run",
    "WhyAnswer": "answers.why_answer",
    "Cause": "why.cause",
    "RightAnswer": "answers.right_answer",
    "RunEnding": "run.ending",
    "Finding": "finding",
    "fit_answer": "fit.answer",
    "reports": "answers.why_answer",
    "right_answer": "answers.right_answer",
    "why_answer": "answers.why_answer",
}
# Whole modules that are public.
_MODULES = {"options": "answers.options", "output": "answers.output", "terminal": "terminal"}

__all__ = [
    "NUMERICS",
    "Cause",
    "Finding",
    "RightAnswer",
    "RunEnding",
    "WatchedRun",
    "WhyAnswer",
    "fit_answer",
    "options",
    "output",
    "reports",
    "right_answer",
    "terminal",
    "why_answer",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name in _MODULES:
        return import_module(f"{__name__}.{_MODULES[name]}")
    if name in _NAMES:
        return getattr(import_module(f"{__name__}.{_NAMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
