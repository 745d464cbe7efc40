"""Control over what a library imports when it is itself imported."""

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def without(module: str) -> Iterator[None]:
    """Make a module look as if it were not installed, for libraries that can do without it.

    Nothing changes if it is imported already.
    """
    if module in sys.modules:
        yield
        return
    # The import system takes None for "there is none".
    sys.modules[module] = None  # pyrefly: ignore[unsupported-operation]
    try:
        yield
    finally:
        del sys.modules[module]
