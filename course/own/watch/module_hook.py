"""On a rank: a hook on a module of the script, which the script may copy and save."""

from collections.abc import Callable
from contextlib import nullcontext


class ModuleHook:
    """Calls what watches; copies of the module, and files, have a hook without effect instead.

    What is pickled in its place is in Python's own library, so that the file can be read anywhere.
    """

    def __init__(self, call: Callable[..., None]) -> None:
        self._call = call

    def __call__(self, *args: object) -> None:
        self._call(*args)

    def __reduce__(self) -> tuple[object, ...]:
        return getattr, (nullcontext(), "__exit__")
