"""On a rank: the files that the script overwrites, by Python's audit events and `torch.save`."""

import os
import sys
from collections.abc import Callable

import torch

from course.own.numbers.fence import Fence
from course.own.numbers.record import Rank, Written
from course.own.watch.late_import import on_import
from course.own.watch.lines import Lines

NEAR = 5  # frames from the opening of a file to the user's line: further in, a library opens it
MOST = 200  # files that are kept
NOT_FILES = ("/dev/", "/proc/", "/sys/")


class Files:
    """Notes which files are overwritten. What appends, creates or patches a file is left alone."""

    def __init__(self, report: Rank, lines: Lines, fence: Fence) -> None:
        self._report, self._lines, self._fence = report, lines, fence
        self._known: dict[tuple[str, str], Written] = {}
        self._active = True

    def install(self, between: Callable, enter: Callable) -> None:
        """Begin; `between` steps between callers and functions, `enter` takes a context."""
        between(self._save, ("save",), torch)
        enter(
            on_import(
                "safetensors.torch", lambda module: between(self._store, ("save_file",), module)
            )
        )
        sys.addaudithook(self._event)  # it cannot be taken away, and costs little

    def remove(self) -> None:
        """End."""
        self._active = False

    def _event(self, event: str, args: tuple) -> None:
        if event != "open" or not self._active or not self._fence.is_ours:
            return
        path, _, flags = args
        if not isinstance(path, (str, bytes, os.PathLike)) or not flags & os.O_TRUNC:
            return
        with self._fence.around("files"):
            frame = sys._getframe(1)
            for _ in range(NEAR):
                if frame is not None and self._lines.is_own(frame.f_code):
                    self._note(path, self._lines.of(frame))
                    return
                frame = frame and frame.f_back

    def _save(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        path = args[1] if len(args) > 1 else kwargs.get("f")
        self._saved(path)
        return real(*args, **kwargs)

    def _store(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        path = args[1] if len(args) > 1 else kwargs.get("filename")
        self._saved(path)
        return real(*args, **kwargs)

    def _saved(self, path: object) -> None:
        if isinstance(path, (str, os.PathLike)) and self._fence.is_ours:
            with self._fence.around("files"):
                self._note(path, self._lines.here())

    def _note(self, path: str | bytes | os.PathLike, line: str) -> None:
        whole = os.path.realpath(os.fsdecode(path))
        if whole.startswith(NOT_FILES):
            return
        written = self._known.get((whole, line))
        if written is not None:
            written.count += 1
        elif len(self._known) < MOST:
            written = self._known[whole, line] = Written(whole, line)
            self._report.written.append(written)
