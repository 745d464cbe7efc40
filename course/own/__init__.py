"""One's own script on several ranks: watch it unchanged, and say where its time goes.

watch    on a rank: hooks, clocks, samples, stacks; plain data, a file for each rank
slow     plain data of all ranks in, causes out
say      findings for people and programs
finding  the one form that all questions answer in

Every rank imports this package, so a name of the face is imported when it is first asked for.
"""

from importlib import import_module

_HOMES = {
    "Answer": "say.answer",
    "Cause": "slow.cause",
    "Finding": "finding",
    "answer": "say.answer",
    "answered": "say.answer",
    "options": "say",
    "watch_ranks": "watch.watching",
}

__all__ = ["Answer", "Cause", "Finding", "answer", "answered", "options", "watch_ranks"]


def __getattr__(name: str) -> object:
    """A name of this face, from the module that has it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = f"{__name__}.{_HOMES[name]}"
    return (
        import_module(f"{home}.{name}") if name == "options" else getattr(import_module(home), name)
    )
