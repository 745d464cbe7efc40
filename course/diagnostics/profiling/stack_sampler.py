"""On a rank: sample a thread's stack, to find out where the user's code spends its time."""

import sys
import threading
from collections import Counter
from collections.abc import Callable
from types import CodeType

from course.diagnostics.watch.lines import Lines

PERIOD_S = 0.02
PASSES = ("forward", "backward", "optimizer")  # not `gradients`: it may fetch the next batch


class StackSampler:
    """Samples fifty times a second which line a thread executes, for each kind of work.

    `kind` returns the kind of work that the thread is doing. A sample takes about 0.1 ms.
    Batches need not come from a DataLoader, so `stop` also returns the share of ``python`` that was
    spent in iterators. An iterator inside which a model computes is the training loop, and does not
    count.
    """

    def __init__(self, lines: Lines, thread: int, kind: Callable[[], str]) -> None:
        self._lines, self._thread, self._kind = lines, thread, kind
        self._ended = threading.Event()
        self._line_counts: dict[str, Counter[str]] = {}
        self._iterating: Counter[tuple[str, frozenset[CodeType]]] = Counter()
        self._loops: set[CodeType] = set()
        self._sampler = threading.Thread(target=self._sample, daemon=True)

    def start(self) -> None:
        """Begin to sample."""
        self._sampler.start()

    def stop(self) -> tuple[dict[str, str], float]:
        """Stop; return the most frequent line of each kind, and the iterators' share of python."""
        self._ended.set()
        self._sampler.join()
        iterating = {key: count for key, count in self._iterating.items() if key[1] - self._loops}
        for (line, _), count in iterating.items():
            self._line_counts.setdefault("input", Counter())[line] += count
        common = {kind: lines.most_common(1)[0][0] for kind, lines in self._line_counts.items()}
        share = sum(iterating.values()) / max(1, self._iterating.total())
        return {kind: line for kind, line in common.items() if line}, share

    def _sample(self) -> None:
        while not self._ended.wait(PERIOD_S):
            frame = sys._current_frames().get(self._thread)
            kind, line = self._kind(), self._lines.of(frame)
            self._line_counts.setdefault(kind, Counter())[line] += 1
            iterators = frozenset(self._lines.iterators(frame))
            if kind == "python":
                self._iterating[line, iterators] += 1
            elif kind in PASSES:
                self._loops |= iterators
