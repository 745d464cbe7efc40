"""Control over what a library imports when it is itself imported."""

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def without(*modules: str) -> Iterator[None]:
    """Make modules look as if they were not installed, for libraries that can do without them.

    Nothing changes for those that are imported already.
    """
    hidden = [module for module in modules if module not in sys.modules]
    for module in hidden:
        # The import system takes None for "there is none".
        sys.modules[module] = None  # pyrefly: ignore[unsupported-operation]
    try:
        yield
    finally:
        for module in hidden:
            del sys.modules[module]
