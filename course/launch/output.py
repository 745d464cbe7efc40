"""In the supervisor: read the output of the run's processes from their pipes.

Every byte is written to disk. Lines are sent to the client, within limits.
"""

import functools
import os
import selectors
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from course.launch import run_folder
from course.launch.messages import Event, Lines, Note, Progress

KEPT_LINES = 5_000  # of each stream are sent to the client; later ones are only on disk
LAST_LINES = 50  # of those held back are sent at the end, where an error usually is
KEPT_CHARS = 2_000  # of each line are sent
PROGRESS_S = 0.25  # how often a progress bar is sent
CHUNK = 1 << 16  # bytes read at once: the capacity of a pipe

Tell = Callable[[Event], None]


class Log:
    """The run's output on disk: a file per rank (rank0.log and so on), and launcher.log."""

    def __init__(self, folder: Path, tell: Tell) -> None:
        self._folder, self._tell = folder, tell
        self._files: dict[int | None, int] = {}
        self._broken = False

    def write(self, rank: int | None, data: bytes) -> None:
        """Append bytes; if the disk refuses, report that once and stop logging."""
        if self._broken:
            return
        try:
            if rank not in self._files:
                name = "launcher.log" if rank is None else f"rank{rank}.log"
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
                self._files[rank] = os.open(self._folder / name, flags, 0o644)
            os.write(self._files[rank], data)
        except OSError as error:
            self._broken = True
            why = f"the log in {self._folder} stops here: {error.strerror}; the run goes on."
            self._tell(Note(why))

    def close(self) -> None:
        """Close the files (in a fork: its copies of them)."""
        for file in self._files.values():
            os.close(file)
        self._files.clear()

    def finish(self) -> None:
        """Close the files and mark the folder as one that may be deleted."""
        self.close()
        run_folder.mark_finished(self._folder)


class Output:
    """One stream of one process, from the read end of its pipe."""

    def __init__(
        self, descriptor: int, rank: int | None, stream: str, log: Log, tell: Tell
    ) -> None:
        self._descriptor, self.rank, self._stream = descriptor, rank, stream
        self._log, self._tell = log, tell
        self._partial = b""
        self._shown = b""
        self._shown_at = 0.0
        self._sent = 0
        self._held: deque[str] = deque(maxlen=LAST_LINES)
        self._skipped = 0

    def read(self) -> bool:
        """Read the bytes that are there; return False at the end of the stream."""
        data = os.read(self._descriptor, CHUNK)
        if not data:
            return False
        self._log.write(self.rank, data)
        *lines, self._partial = (self._partial + data).split(b"\n")
        # A stream without newlines must not grow in memory; its bytes are on disk.
        self._partial = self._partial[-CHUNK:]
        self._send([_text(line) for line in lines])
        return True

    def _send(self, lines: list[str]) -> None:
        room = KEPT_LINES - self._sent
        now, later = lines[:room], lines[room:]
        self._sent += len(now)
        self._skipped += len(later)
        self._held.extend(later)
        if now:
            self._tell(Lines(self.rank, self._stream, now))

    def show_progress(self) -> None:
        """Report a progress bar, a line that carriage returns rewrite, a few times a second."""
        now = time.monotonic()
        new = b"\r" in self._partial and self._partial != self._shown
        if new and now - self._shown_at > PROGRESS_S:
            self._shown, self._shown_at = self._partial, now
            self._tell(Progress(self.rank, _text(self._partial)))

    def finish(self) -> None:
        """Send the unfinished line and the lines held back, at the end of the run."""
        if self._partial:
            self._send([_text(self._partial)])
        if self._held:
            skipped = self._skipped - len(self._held)
            self._tell(Lines(self.rank, self._stream, list(self._held), skipped))


def _text(line: bytes) -> str:
    """The line as a terminal shows it: a carriage return restarts it, bad UTF-8 becomes "�"."""
    shown = line.removesuffix(b"\r").rpartition(b"\r")[2].decode(errors="replace")
    return shown if len(shown) <= KEPT_CHARS else shown[:KEPT_CHARS] + " …"


class Pipes:
    """The standard output and standard error of every process of a run."""

    def __init__(self, selector: selectors.BaseSelector, log: Log, tell: Tell) -> None:
        self._selector, self._log, self._tell = selector, log, tell
        self._outputs: dict[int, Output] = {}  # by the read end of the pipe

    def open(self, rank: int | None) -> list[int]:
        """Make and watch pipes for stdout and stderr; return their two write ends."""
        ends = []
        for stream in ("stdout", "stderr"):
            read, write = os.pipe()
            self._outputs[read] = Output(read, rank, stream, self._log, self._tell)
            on_bytes = functools.partial(self._read, read)
            self._selector.register(read, selectors.EVENT_READ, on_bytes)
            ends.append(write)
        return ends

    def _read(self, descriptor: int) -> None:
        if not self._outputs[descriptor].read():
            self._selector.unregister(descriptor)
            os.close(descriptor)
            self._outputs.pop(descriptor).finish()

    def show_progress(self) -> None:
        """Report the progress bars that processes write."""
        for output in self._outputs.values():
            output.show_progress()

    def drain(self, rank: int | None) -> None:
        """Read what is in a rank's pipes, without waiting for descendants that still hold them."""
        for key, _ in self._selector.select(timeout=0):  # one read empties a pipe
            if key.fd in self._outputs and self._outputs[key.fd].rank == rank:
                key.data()

    def finish(self) -> None:
        """Read what is left in every pipe, and send the last lines."""
        for rank in {output.rank for output in self._outputs.values()}:
            self.drain(rank)
        for output in self._outputs.values():
            output.finish()

    def close(self) -> None:
        """Close the read ends, in a fork."""
        for descriptor in self._outputs:
            os.close(descriptor)
