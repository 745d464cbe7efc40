"""In the client: an isolated place for the ranks of untrusted code.

The warm server runs inside bubblewrap, and so does everything that it forks: supervisors, launchers
and ranks. Only the process that reads their messages, which are plain data, is outside.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from course.core import CourseError, words
from course.hardware import isolation
from course.launch.channel import Channel
from course.launch.connect import WarmHandle
from course.launch.messages import SupervisorStarted
from course.launch.run import Run


class Sandbox:
    """A place in which `launch` runs a learner's script.

    Ranks write to the files ``rank0`` and so on in the folder `inside`, which this process finds in
    the folder `outside`. Apart from printed output, these files are the only way out.
    """

    inside = Path(isolation.RESULTS)
    host: None = None

    def __init__(self, outside: Path, within: Sequence[str]) -> None:
        self.outside, self._within = outside, within
        self._server: WarmHandle | None = None

    @classmethod
    @contextmanager
    def around(cls, src: Path, results: int) -> Iterator["Sandbox"]:
        """A sandbox with `results` result files, and a copy of the learner's folder at `src`.

        Raises `CourseError` if this machine cannot isolate, or if `src` cannot be copied.
        """
        isolation.require()
        _check_size(src)
        with tempfile.TemporaryDirectory(prefix="course-results-") as folder:
            outside = Path(folder)  # only this user may enter
            files = [outside / f"rank{rank}" for rank in range(results)]
            for file in files:
                file.touch()
                file.chmod(0o666)  # the user inside may be another one
            _copy(src, outside / "submitted")
            sandbox = cls(outside, isolation.command([], outside / "submitted", src, files))
            try:
                yield sandbox
            finally:
                sandbox.end()

    def connect(self) -> Channel:
        """A channel to a new supervisor inside; raises `CourseError` if there is none."""
        try:
            if self._server is None or not self._server.alive:
                self.end()
                self._server = WarmHandle(self._within, isolation.ENVIRONMENT)
            return self._server.connect()
        except OSError as error:
            raise CourseError(f"What runs isolated does not answer: {error.strerror}.") from None

    @property
    def too_large(self) -> bool:
        """Whether all processes inside together hold more memory than they may."""
        return self._server is not None and self._server.holds_more_than(isolation.TOGETHER)

    def env(self, metrics: Path) -> Mapping[str, str]:
        """An environment that is the same on every machine; metrics stay inside."""
        return isolation.ENVIRONMENT

    def cwd(self) -> str:
        """The home folder inside."""
        return isolation.HOME

    def log_dir(self, folder: Path) -> str:
        """The home folder inside."""
        return isolation.HOME

    def connect_again(self) -> None:
        """None: a supervisor that was killed inside is not replaced."""

    def end(self, supervisor: SupervisorStarted | None = None, run: Run | None = None) -> None:
        """Kill everything inside; the next connection starts a new server."""
        if self._server:
            self._server.end()
            self._server = None


def _check_size(src: Path) -> None:
    """Raise `CourseError` if the files of a folder do not fit into the sandbox."""
    if sum(path.stat().st_size for path in _files(src)) > isolation.DISK:
        most = words.size(isolation.DISK)
        raise CourseError(f"{src} holds more than {most}: keep only the scripts there.")


def _copy(src: Path, to: Path) -> None:
    """Copy the files of a folder, for every user to read."""
    try:
        to.mkdir()
        for path in _files(src):
            copy = to / path.relative_to(src)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        for path in (to, *to.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    except OSError as error:
        raise CourseError(f"{src} cannot be copied: {error}.") from None


def _files(folder: Path) -> list[Path]:
    """The files in a folder and below, without links, pipes and devices."""
    return [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
