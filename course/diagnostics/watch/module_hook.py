"""On a rank: a hook on a module of the script, which the script may copy and save."""

from collections.abc import Callable
from contextlib import nullcontext


class ModuleHook:
    """Calls the watching function. Copies of the module, also in files, get a hook without effect.

    A function of Python's own library is pickled in its place, so any Python can read the file.
    """

    def __init__(self, call: Callable[..., None]) -> None:
        self._call = call

    def __call__(self, *args: object) -> None:
        self._call(*args)

    def __reduce__(self) -> tuple[object, ...]:
        return getattr, (nullcontext(), "__exit__")
