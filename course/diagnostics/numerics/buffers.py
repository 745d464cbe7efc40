"""On a rank: note the buffers of the trained models, and where these are evaluated or saved."""

import weakref
import zlib
from collections.abc import Callable, Sequence

from torch import Tensor, nn

from course.diagnostics.numerics import tensor_samples
from course.diagnostics.numerics.context import RankContext
from course.diagnostics.numerics.training import BufferUse
from course.diagnostics.watch import samples

PER_TENSOR = 8  # values that are sampled from a buffer
MAX_USES = 64  # evaluations and saves that are kept


def floating(module: nn.Module) -> list[Tensor]:
    """The module's buffers that can be averaged."""
    return [buffer for buffer in module.buffers() if buffer.is_floating_point()]


class Buffers:
    """Knows the models that are trained with buffers of their own; DDP may send rank 0's.

    `steps` returns the number of steps of all optimizers.
    """

    def __init__(self, context: RankContext, steps: Callable[[], int]) -> None:
        self._report, self._lines, self._fence = context
        self._steps = steps
        self._models: dict[int, weakref.ref[nn.Module]] = {}
        self._trained: set[int] = set()  # the buffers of these models, by identity

    def at_pass(self, module: nn.Module, buffers: Sequence[Tensor]) -> int:
        """A checksum of a model's buffers when it is trained; 0 if DDP sends them, or for none."""
        if not buffers or getattr(module, "broadcast_buffers", False):
            return 0
        self._models[id(module)] = weakref.ref(module)
        self._trained |= set(map(id, buffers))
        return _checksum(buffers)

    def note_evaluation(self, module: nn.Module) -> None:
        """Note the buffers of a model that is called in evaluation mode, if it is trained."""
        if self._trained and self._trained.issuperset(map(id, buffers := floating(module))):
            self._note(buffers, is_saved=False)

    def note_save(self, content: object) -> None:
        """Note the buffers of each trained model that has some of them in a saved object."""
        if not self._models:
            return
        addresses = {tensor.data_ptr() for tensor in samples.tensors(content)}
        for ref in self._models.values():
            buffers = floating(module) if (module := ref()) is not None else []
            if addresses.intersection(buffer.data_ptr() for buffer in buffers):
                self._note(buffers, is_saved=True)

    def _note(self, buffers: Sequence[Tensor], is_saved: bool) -> None:
        uses, line, steps = self._report.buffer_uses, self._lines.here(), self._steps()
        known = any((use.line, use.steps) == (line, steps) for use in uses)
        if buffers and not known and len(uses) < MAX_USES:
            uses.append(BufferUse(line, steps, _checksum(buffers), is_saved))


def _checksum(buffers: Sequence[Tensor]) -> int:
    views = [tensor_samples.values(buffer, PER_TENSOR) for buffer in buffers]
    return zlib.crc32(tensor_samples.concatenate(views).cpu().numpy().tobytes())
