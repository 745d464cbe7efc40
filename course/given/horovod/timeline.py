"""A record of what happened to each tensor and when; chrome://tracing and Perfetto open it."""

import json
import time


class Timeline:
    """One row per tensor. Times are `time.perf_counter`'s, in seconds."""

    def __init__(self, path: str) -> None:
        self.path, self.start = path, time.perf_counter()
        self.rows: dict[str, int] = {}
        self.events: list[dict] = []
        self.first: dict[str, float] = {}  # when the first rank reported that it is ready

    def add(
        self, tensor: str, what: str, start: float, end: float | None = None, **details: object
    ) -> None:
        """Add a stretch of time to the row of a tensor, or a moment if there is no `end`."""
        if tensor not in self.rows:
            row = self.rows[tensor] = len(self.rows)
            named = {"name": "process_name", "ph": "M", "pid": row, "args": {"name": tensor}}
            self.events.append(named)
        kind = {"ph": "i", "s": "p"} if end is None else {"ph": "X", "dur": (end - start) * 1e6}
        place = {"pid": self.rows[tensor], "tid": 0, "ts": (start - self.start) * 1e6}
        self.events.append({"name": what, **place, "args": details, **kind})

    def heard(self, tensor: str, rank: int, now: float) -> None:
        """Record that a rank is ready for the operation."""
        self.first.setdefault(tensor, now)
        self.add(tensor, str(rank), now, rank=rank)

    def ran(
        self,
        tensor: str,
        kind: str,
        requested: float,
        agreed: float,
        phases: list[tuple[str, float, float]],
    ) -> None:
        """Add a whole operation: negotiated, queued, then the phases of its message."""
        begin = min(requested, self.first.pop(tensor, requested))
        self.add(tensor, f"NEGOTIATE_{kind.upper()}", begin, agreed)
        for what, start, end in [("QUEUE", agreed, phases[0][1] if phases else agreed), *phases]:
            self.add(tensor, what, start, end)

    def write(self) -> None:
        """Write the file."""
        with open(self.path, "w") as file:
            json.dump({"traceEvents": self.events}, file)
