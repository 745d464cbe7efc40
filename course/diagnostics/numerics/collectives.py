"""On a rank: count its collectives by their part of a step, and note any never waited for."""

import sys
from collections.abc import Callable
from itertools import takewhile

import torch.distributed as dist

from course.diagnostics.numerics.context import RankContext
from course.diagnostics.numerics.training import Evaluation
from course.diagnostics.watch import frames, samples
from course.diagnostics.watch.hook_set import (
    COLLECTIVES,
    Args,
    Function,
    HookSet,
    Kwargs,
    note_group,
)

WAITS = ("wait", "synchronize", "is_completed", "result", "get_future", "block_current_stream")
LIBRARIES = ("torch.", "course.")
SMALL = 16  # numbers: a message of so few is a loss or a flag
SUMS = 256  # numbers that are kept of an evaluation


class Collectives:
    """Counts the collectives of all ranks; `order` is the same on all ranks at the same moment.

    `phase` says what goes on, such as a forward pass. `evaluation` returns the one that
    goes on, if any. Its messages are counted to the end of the script, all others until `close`.
    """

    def __init__(
        self,
        context: RankContext,
        phase: Callable[[], str],
        evaluation: Callable[[], Evaluation | None],
    ) -> None:
        self._report, self._lines, self._fence = context
        self._phase, self._evaluation, self._closed = phase, evaluation, False
        self._pending: dict[int, tuple[object, str]] = {}
        self.order = 0

    def install(self, window: HookSet, whole: HookSet) -> None:
        """Begin: with hooks for the window of steps, and for the whole script."""
        window.around(self._join, ("init_process_group",))
        whole.around(self._collective, COLLECTIVES)
        # Not `isend` and `irecv` alone: `P2POp` compares them with its own.
        window.around(self._point, ("send", "recv", "batch_isend_irecv"))
        window.around(self._wait, WAITS, dist.Work)

    def _join(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> None:
        real(*args, **kwargs)
        if self._fence.is_ours:
            with self._fence.around("ranks"):
                note_group(self._report)

    def _collective(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        work = real(*args, **kwargs)
        if self._fence.is_ours:
            with self._fence.around("evaluation"):
                self._note_evaluation(name, args)
            if self._closed:
                return work
            with self._fence.around("messages"):
                self.order += kwargs.get("group") in (None, dist.group.WORLD)
                numbers = sum(t.numel() for t in samples.tensors([args, list(kwargs.values())]))
                kind = "small" if numbers <= SMALL else "shards" if _is_fsdps() else self._phase()
                self._report.sends[kind] = self._report.sends.get(kind, 0) + 1
                if isinstance(work, dist.Work) and numbers > SMALL:
                    self._pending[id(work)] = work, self._lines.here()
        return work

    def _note_evaluation(self, name: str, args: Args) -> None:
        evaluation = self._evaluation()
        if evaluation is None or name.startswith("broadcast"):  # which adds nothing up
            return
        evaluation.messages += 1
        if name in ("all_reduce", "reduce") and len(evaluation.sums) < SUMS:
            for tensor in samples.tensors(args[:1]):
                if tensor.device.type == "cpu" and tensor.numel() <= SMALL:
                    evaluation.sums += tensor.detach().double().flatten().tolist()

    def close(self) -> None:
        """End the window of steps."""
        self._closed = True
        self._pending.clear()

    def _point(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        self._report.sends["point"] = self._report.sends.get("point", 0) + 1
        return real(*args, **kwargs)

    def _wait(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        self._pending.pop(id(args[0]), None)
        return real(*args, **kwargs)

    def take_pending(self) -> str:
        """The line of a message that was not waited for before this step; "" if none."""
        line = next((line for _, line in self._pending.values()), "")
        self._pending.clear()
        return line


def _is_fsdps() -> bool:
    """Whether fully_shard, not the script, calls a collective, as it does for each layer."""
    inside = takewhile(lambda name: name.startswith(LIBRARIES), frames.modules(sys._getframe(2)))
    return any(name.startswith("torch.distributed.fsdp") for name in inside)
