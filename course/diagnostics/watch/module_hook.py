"""On a rank: a hook on a module of the script, which the script may copy and save."""

from collections.abc import Callable
from contextlib import nullcontext


class ModuleHook:
    """Calls the watching function; in copies of the module, and in saved files, it does nothing.

    It is pickled as a function of Python's own library, so a Python without the course can read
    the file.
    """

    def __init__(self, call: Callable[..., None]) -> None:
        self._call = call

    def __call__(self, *args: object) -> None:
        self._call(*args)

    def __reduce__(self) -> tuple[object, ...]:
        return getattr, (nullcontext(), "__exit__")
