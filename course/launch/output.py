"""Read what one stream of one process writes: every byte to disk, lines to the client within limits."""

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

KEPT_LINES = 5_000  # of each stream sent to the client; what comes after stays on disk
FINISHED = "finished"  # marks the folder of a run that has ended: it may be deleted
LAST_LINES = 50  # of those not sent, the last are sent at the end: an error is usually there
KEPT_CHARS = 2_000  # of each line
TRANSIENT_S = 0.25  # how often a progress bar is sent


class Log:
    """The run's output on disk: one file a rank, ``rank0.log`` and so on, and ``launcher.log``."""

    def __init__(self, folder: Path, note: Callable[[str], None]) -> None:
        self._folder, self._note = folder, note
        self._files: dict[int | None, int] = {}
        self._broken = False

    def write(self, rank: int | None, data: bytes) -> None:
        """Append bytes; where the disk refuses, say so once and go on without it."""
        if self._broken:
            return
        try:
            if rank not in self._files:
                name = "launcher.log" if rank is None else f"rank{rank}.log"
                self._files[rank] = os.open(
                    self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644
                )
            os.write(self._files[rank], data)
        except OSError as error:
            self._broken = True
            self._note(f"the log in {self._folder} stops here: {error.strerror}; the run goes on.")

    def close(self) -> None:
        """Close the files (in a fork: its copies of them)."""
        for file in self._files.values():
            os.close(file)
        self._files.clear()

    def finish(self) -> None:
        """Close the files and mark the folder as one that may be deleted."""
        self.close()
        with contextlib.suppress(OSError):  # on a full disk the folder is kept
            (self._folder / FINISHED).touch()


class Output:
    """One stream of one process, from the read end of its pipe."""

    def __init__(
        self, descriptor: int, rank: int | None, stream: str, log: Log, tell: Callable[..., None]
    ) -> None:
        self._descriptor, self.rank, self._stream, self._log, self._tell = (
            descriptor,
            rank,
            stream,
            log,
            tell,
        )
        self._partial = b""
        self._shown = b""
        self._shown_at = 0.0
        self._sent = 0
        self._held: deque[str] = deque(maxlen=LAST_LINES)
        self._skipped = 0

    def read(self) -> bool:
        """Read what is there; False at the end of the stream."""
        data = os.read(self._descriptor, 1 << 16)
        if not data:
            return False
        self._log.write(self.rank, data)
        *lines, self._partial = (self._partial + data).split(b"\n")
        # A stream without newlines must not grow in memory; its bytes are on disk.
        self._partial = self._partial[-(1 << 16) :]
        self._send([_text(line) for line in lines])
        return True

    def _send(self, lines: list[str]) -> None:
        room = KEPT_LINES - self._sent
        now, later = lines[:room], lines[room:]
        self._sent += len(now)
        self._skipped += len(later)
        self._held.extend(later)
        if now:
            self._tell(event="lines", rank=self.rank, stream=self._stream, lines=now)

    def flush_partial(self) -> None:
        """Show a progress bar, a line without an end that a carriage return starts over, a few times a second."""
        now = time.monotonic()
        if (
            b"\r" in self._partial
            and self._partial != self._shown
            and now - self._shown_at > TRANSIENT_S
        ):
            self._shown, self._shown_at = self._partial, now
            self._tell(
                event="transient", rank=self.rank, stream=self._stream, text=_text(self._partial)
            )

    def finish(self) -> None:
        """Send what is left at the end of the run."""
        if self._partial:
            self._send([_text(self._partial)])
        if self._held:
            skipped = self._skipped - len(self._held)
            lines = list(self._held)
            self._tell(
                event="lines", rank=self.rank, stream=self._stream, lines=lines, skipped=skipped
            )


def _text(line: bytes) -> str:
    """What a terminal would show of the line: a carriage return starts it over, bad UTF-8 becomes a mark."""
    shown = line.removesuffix(b"\r").rpartition(b"\r")[2].decode(errors="replace")
    return shown if len(shown) <= KEPT_CHARS else shown[:KEPT_CHARS] + " …"
