"""On a rank: which line of the user's own code is being executed."""

import contextlib
import inspect
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from types import CodeType, FrameType

from course.core import user_files

PERIOD_S = 0.02
PASSES = ("forward", "backward", "optimizer")  # after backward the next batch may be fetched


class Lines:
    """Knows the script, and the user's files in its folder and in the current one."""

    def __init__(self, script: str) -> None:
        self._folder = os.path.dirname(os.path.realpath(script)) + os.sep
        self._folders = (self._folder, os.path.realpath(os.getcwd()) + os.sep)
        self._script = os.path.realpath(script)
        self._names: dict[CodeType, str] = {}

    def here(self) -> str:
        """The innermost line of the user's in the stack of this thread; "" if there is none."""
        return self.of(sys._getframe(1))

    def of(self, frame: FrameType | None) -> str:
        """Return the innermost line of the user's, from a frame outwards."""
        while frame is not None:
            if name := self._file(frame.f_code):
                return f"{name}:{frame.f_lineno}"
            frame = frame.f_back
        return ""

    def is_own(self, code: CodeType) -> bool:
        """Whether code is the user's own."""
        return bool(self._file(code))

    @staticmethod
    def iterators(frame: FrameType | None) -> Iterator[CodeType]:
        """The code of all iterators whose next item is being computed."""
        while frame is not None:
            code, caller = frame.f_code, frame.f_back
            generator = code.co_flags & inspect.CO_GENERATOR and not code.co_name.startswith("<")
            manager = caller is not None and caller.f_code.co_filename == contextlib.__file__
            if code.co_name == "__next__" or (generator and not manager):
                yield code
            frame = caller

    def _file(self, code: CodeType) -> str:
        name = self._names.get(code)
        if name is None:
            name = self._names[code] = self._name(code.co_filename)
        return name

    def _name(self, file: str) -> str:
        path = os.path.realpath(file)
        own = path == self._script or (path.startswith(self._folders) and user_files.is_users(path))
        return path.removeprefix(self._folder) if own and os.path.isfile(path) else ""


class Sampler:
    """Samples the line of a thread fifty times a second, by the kind of its work.

    `kind` returns what the thread is doing at the moment. Each sample takes some 0.1 ms.
    Batches need not come from a DataLoader, so `stop` also returns the share of ``python`` that was
    spent in iterators. An iterator in which a model computes is the training loop, and does not
    count.
    """

    def __init__(self, lines: Lines, thread: int, kind: Callable[[], str]) -> None:
        self._lines, self._thread, self._kind = lines, thread, kind
        self._ended = threading.Event()
        self._seen: dict[str, Counter[str]] = {}
        self._iterating: Counter[tuple[str, frozenset[CodeType]]] = Counter()
        self._loops: set[CodeType] = set()
        self._sampler = threading.Thread(target=self._sample, daemon=True)

    def start(self) -> None:
        """Begin to sample."""
        self._sampler.start()

    def stop(self) -> tuple[dict[str, str], float]:
        """End, and return each kind's most frequent line, and the share of python in iterators."""
        self._ended.set()
        self._sampler.join()
        iterating = {key: count for key, count in self._iterating.items() if key[1] - self._loops}
        for (line, _), count in iterating.items():
            self._seen.setdefault("input", Counter())[line] += count
        most = {kind: lines.most_common(1)[0][0] for kind, lines in self._seen.items()}
        share = sum(iterating.values()) / max(1, self._iterating.total())
        return {kind: line for kind, line in most.items() if line}, share

    def _sample(self) -> None:
        while not self._ended.wait(PERIOD_S):
            frame = sys._current_frames().get(self._thread)
            kind, line = self._kind(), self._lines.of(frame)
            self._seen.setdefault(kind, Counter())[line] += 1
            iterators = frozenset(self._lines.iterators(frame))
            if kind == "python":
                self._iterating[line, iterators] += 1
            elif kind in PASSES:
                self._loops |= iterators
