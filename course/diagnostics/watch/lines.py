"""On a rank: find the line of the user's own code that is being executed."""

import contextlib
import inspect
import os
import sys
from collections.abc import Iterator
from types import CodeType, FrameType

from course.core import user_files


class Lines:
    """Finds lines in the script, and in the user's files in its folder and the current folder."""

    def __init__(self, script: str) -> None:
        self._folder = os.path.dirname(os.path.realpath(script)) + os.sep
        self._folders = (self._folder, os.path.realpath(os.getcwd()) + os.sep)
        self._script = os.path.realpath(script)
        self._names: dict[CodeType, str] = {}

    def here(self) -> str:
        """The user's innermost line in the stack of this thread; "" if there is none."""
        return self.of(sys._getframe(1))

    def of(self, frame: FrameType | None) -> str:
        """The user's innermost line, from a frame outwards; "" if there is none."""
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
        """The code of all iterators on the stack that are computing their next item."""
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
