"""On a rank: which line of the user's own code is being executed."""

import os
import sys
import sysconfig
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

PERIOD_S = 0.005
OURS = str(Path(__file__).resolve().parents[1]) + os.sep
LIBRARIES = tuple(
    {os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "purelib")}
)


class Lines:
    """Knows the user's own files: those of no library, in the script's folder or the current."""

    def __init__(self, script: str) -> None:
        self._folder = os.path.dirname(os.path.realpath(script)) + os.sep
        self._folders = (self._folder, os.path.realpath(os.getcwd()) + os.sep)
        self._script = os.path.realpath(script)
        self._names: dict[CodeType, str] = {}

    def here(self) -> str:
        """The innermost line of the user's in the stack of this thread; "" if there is none."""
        return self.of(sys._getframe(1))

    def of(self, frame: FrameType | None) -> str:
        """The innermost line of the user's from a frame outwards."""
        while frame is not None:
            name = self._names.get(frame.f_code)
            if name is None:
                name = self._names[frame.f_code] = self._name(frame.f_code.co_filename)
            if name:
                return f"{name}:{frame.f_lineno}"
            frame = frame.f_back
        return ""

    def _name(self, file: str) -> str:
        path = os.path.realpath(file)
        own = path == self._script or (
            path.startswith(self._folders)
            and not path.startswith((*LIBRARIES, OURS))
            and "site-packages" not in path
        )
        return path.removeprefix(self._folder) if own and os.path.isfile(path) else ""


class Sampler:
    """Looks a few hundred times a second at which line a thread is, by what kind of work.

    `kind` says what the thread is doing at the moment. It takes about 30 µs of a core each time.
    """

    def __init__(self, lines: Lines, thread: int, kind: "Kind") -> None:
        self._lines, self._thread, self._kind = lines, thread, kind
        self._ended = threading.Event()
        self._seen: dict[str, Counter[str]] = {}
        self._sampler = threading.Thread(target=self._sample, daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._sampler.start()

    def stop(self) -> dict[str, str]:
        """End, and return for each kind the line that was seen most."""
        self._ended.set()
        self._sampler.join()
        found = {kind: lines.most_common(1)[0][0] for kind, lines in self._seen.items()}
        return {kind: line for kind, line in found.items() if line}

    def _sample(self) -> None:
        while not self._ended.wait(PERIOD_S):
            frame = sys._current_frames().get(self._thread)
            self._seen.setdefault(self._kind.kind, Counter())[self._lines.of(frame)] += 1


class Kind:
    """What a thread is doing."""

    kind = "python"
