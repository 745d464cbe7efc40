"""Decide which traffic a message is, by its call, its size, and where it was begun."""

from collections import Counter

from course.core import call_site
from course.diagnostics.profiling.timeline import ASYNC, RankReport, Slice
from course.diagnostics.why.thresholds import GRADIENT_LINE_SHARE, LOSS_BYTES

OBJECTS = ("barrier", "object", "monitored")


class TrafficClassifier:
    """Sorts waits by traffic; it knows which lines send much of the gradients' bytes."""

    def __init__(self, reports: list[RankReport]) -> None:
        sent: Counter[str] = Counter()
        steps = [step for report in reports for step in report.steps]
        for step in steps:
            for slice_ in step.slices:
                if slice_.kind == "collective" and not _is_talk(slice_):
                    sent[slice_.where] += slice_.nbytes
        least = GRADIENT_LINE_SHARE * max(1, *(report.gradients for report in reports)) * len(steps)
        self._senders = {line for line, total in sent.items() if total >= least}

    def classify(self, slice_: Slice) -> str:
        """The traffic of the message that a slice waits for: one of `TRAFFIC` except ``early``."""
        if slice_.kind in ("tail", "buffers"):
            return {"tail": "gradients", "buffers": "buffers"}[slice_.kind]
        if _is_talk(slice_):
            return "synchronization"
        if slice_.name.removesuffix(f", {ASYNC}") in call_site.POINT_TO_POINT:
            return "messages"
        inside = slice_.within in ("forward", "backward", "optimizer")
        of_model = inside and slice_.nbytes > LOSS_BYTES
        return "gradients" if of_model or slice_.where in self._senders else "synchronization"

    def classify_in_step(self, slice_: Slice, slices: list[Slice]) -> str:
        """The same, or ``early`` if the other `slices` of its step show that."""
        traffic = self.classify(slice_)
        return "early" if traffic == "gradients" and _is_early(slice_, slices) else traffic


def is_sum_in_forward(slice_: Slice) -> bool:
    """Whether a message adds up the parts of a layer that is split between ranks."""
    summed = slice_.name.startswith("all_reduce") and slice_.nbytes > LOSS_BYTES
    return summed and slice_.within == "forward"


def _is_talk(slice_: Slice) -> bool:
    """Whether a message carries no tensor: a barrier, or objects."""
    return any(word in slice_.name for word in OBJECTS)


def _is_early(slice_: Slice, slices: list[Slice]) -> bool:
    """Whether another backward pass follows the one of this message before the optimizer's step.

    Messages that every pass needs, such as FSDP's parameters, are not early. Nor are the messages
    of a DDP module if only the pass of another module follows.
    """
    if (
        slice_.passes_begun == 0
        or slice_.within == "forward"
        or slice_.name.startswith("all_gather")
    ):
        return False
    for later in slices:
        if later.start < slice_.end:
            continue
        if later.kind == "optimizer":
            return False
        same = (later.kind, later.name) == ("tail", slice_.name)
        if later.passes_begun > slice_.passes_begun and (same or slice_.kind != "tail"):
            return True
    return False
