"""On a rank: act on a module as soon as the script imports it, without importing it ourselves."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

OnImport = Callable[[ModuleType], None]


@contextmanager
def on_import(name: str, act: OnImport) -> Iterator[None]:
    """Inside the `with`, call `act` with the module of this name once it has been imported.

    If it has been imported already, `act` is called at once.
    """
    if name in sys.modules:
        act(sys.modules[name])
        yield
        return
    finder = _Finder(name, act)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)


class _Finder(MetaPathFinder):
    """Finds one module, once, by asking all other finders."""

    def __init__(self, name: str, act: OnImport) -> None:
        self._name, self._act = name, act

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders return; its loader also calls `act` after the import."""
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)  # or the next line would call this method again
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self._act(module)

        spec.loader.exec_module = exec_module  # pyrefly: ignore[method-assign]
        return spec
