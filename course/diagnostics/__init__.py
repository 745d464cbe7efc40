"""One's own script: where it hangs, why it is slow, whether it is right, on which GPUs it fits.

Each of these imports only from those above it; CONTRIBUTING.md lists the folders in this order.

finding      what can be named, and the one form in which all questions answer
watch        records in each process where it stands, and its collectives
profiling    records on a rank how long each part of a step takes
numerics     records on a rank its weights, gradients, samples and settings
run          decides from the data of all ranks why a run cannot go on, or why it has failed
why          finds in the data of all ranks the causes of a long step
right        finds in the data of all ranks what is wrong, and makes a table of what was compared
answers      shows findings to people and programs, and reads the options of the four questions
fit          rehearses on tensors without memory, and adds up what each GPU needs
watched_run  runs a command in a notebook, and has its processes watched
terminal_run does the same in a terminal, with `shared` if several commands make one run
deep         compares two runs in a terminal: on several ranks, and on one process
terminal     makes the tools commands of a terminal

Every process of a watched command imports this package, and must start as fast as an unwatched one.
So a name is imported when it is first used.
"""

from importlib import import_module

# The public names, and the module that has each.
_NAMES = {
    "NUMERICS": "watch.process",
    "WhyAnswer": "answers.why_answer",
    "Cause": "why.cause",
    "RightAnswer": "answers.right_answer",
    "RunEnding": "run.ending",
    "Finding": "finding",
    "fit_answer": "fit.answer",
    "reports": "answers.why_answer",
    "right_of_run": "answers.right_answer",
    "watched": "watched_run",
    "why_answer": "answers.why_answer",
    "why_of_run": "answers.why_answer",
}
# Whole modules that are public.
_MODULES = {"options": "answers.options", "report": "answers.report", "terminal": "terminal"}

__all__ = [
    "NUMERICS",
    "Cause",
    "Finding",
    "RightAnswer",
    "RunEnding",
    "WhyAnswer",
    "fit_answer",
    "options",
    "report",
    "reports",
    "right_of_run",
    "terminal",
    "watched",
    "why_answer",
    "why_of_run",
]


def __getattr__(name: str) -> object:
    """A public name, imported when it is first used."""
    if name in _MODULES:
        return import_module(f"{__name__}.{_MODULES[name]}")
    if name in _NAMES:
        return getattr(import_module(f"{__name__}.{_NAMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
