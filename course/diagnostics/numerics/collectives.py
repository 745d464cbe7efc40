"""On a rank: count collectives by the part of a step, and note those that nothing waits for."""

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
SMALL = 16  # a message of at most this many numbers is a loss or a flag
SUMS = 256  # numbers that are kept from an evaluation, about


class Collectives:
    """Counts this rank's collectives.

    `so_far` counts those of the default group, and the recorder adds DDP's averages to it, so it
    tells which steps of two ranks belong together. `phase` returns the current part of a step, such
    as a forward pass. `evaluation` returns the running evaluation, if any: its messages are counted
    until the script ends, all others until `close`.
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
        self.so_far = 0
        self.ddp_averages = False  # whether a backward pass runs in which DDP averages gradients

    def install(self, window: HookSet, whole: HookSet) -> None:
        """Install some hooks for the window of steps, and some for the whole script."""
        window.around(self._join, ("init_process_group",))
        whole.around(self._collective, COLLECTIVES)
        # `isend` and `irecv` cannot be replaced: `P2POp` accepts only the original functions.
        window.around(self._point_to_point, ("send", "recv", "batch_isend_irecv"))
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
                # A communication hook of DDP may go on in this thread or in another one, by chance.
                if not self.ddp_averages:
                    self.so_far += kwargs.get("group") in (None, dist.group.WORLD)
                numbers = sum(t.numel() for t in samples.tensors([args, list(kwargs.values())]))
                kind = "small" if numbers <= SMALL else "shards" if _is_fsdp() else self._phase()
                self._report.sends[kind] = self._report.sends.get(kind, 0) + 1
                if isinstance(work, dist.Work) and numbers > SMALL:
                    self._pending[id(work)] = work, self._lines.here()
        return work

    def _note_evaluation(self, name: str, args: Args) -> None:
        evaluation = self._evaluation()
        if evaluation is None or name.startswith("broadcast"):  # a broadcast combines nothing
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

    def _point_to_point(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        self._report.sends["point"] = self._report.sends.get("point", 0) + 1
        return real(*args, **kwargs)

    def _wait(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        self._pending.pop(id(args[0]), None)
        return real(*args, **kwargs)

    def take_pending(self) -> str:
        """Forget the messages that nothing waited for; return the line of the first, or ""."""
        line = next((line for _, line in self._pending.values()), "")
        self._pending.clear()
        return line


def _is_fsdp() -> bool:
    """Whether fully_shard calls this collective, as it does for each layer, and not the script."""
    inside = takewhile(lambda name: name.startswith(LIBRARIES), frames.modules(sys._getframe(2)))
    return any(name.startswith("torch.distributed.fsdp") for name in inside)
