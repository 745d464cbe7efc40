"""Hide modules from a library while it is imported."""

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def without(*modules: str) -> Iterator[None]:
    """Within the block, make modules look uninstalled, for libraries that can do without them.

    Modules that are already imported stay visible.
    """
    hidden = [module for module in modules if module not in sys.modules]
    for module in hidden:
        # To the import system, None means "there is no such module".
        sys.modules[module] = None  # pyrefly: ignore[unsupported-operation]
    try:
        yield
    finally:
        for module in hidden:
            del sys.modules[module]
