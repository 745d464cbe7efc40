"""Detect loaders that keep the ranks waiting."""

from course.diagnostics.finding import CauseInfo
from course.diagnostics.why import epoch_starts
from course.diagnostics.why.cause import OwnWork
from course.diagnostics.why.step_breakdown import StepBreakdown
from course.diagnostics.why.thresholds import EPOCH_START_SHARE

STORE = "prepare the data once and store it"


class Input(OwnWork):
    """All ranks wait for their batches."""

    info = CauseInfo("input", "all ranks wait for their loaders", lab="04")
    kind = "input"
    aspect = "the loaders"

    @classmethod
    def is_judged(cls, breakdown: StepBreakdown) -> bool:
        """Whether the script loaded anything."""
        return breakdown.mean_own("input") > 0

    @property
    def waits_for_workers(self) -> bool:
        """Whether the loader has workers."""
        return self.breakdown.has_workers

    @property
    def lab(self) -> str:
        """Lab 04d for a stream, lab 04 for any other loader."""
        loader = self.breakdown.script.loader
        return "04d" if loader and loader.stream else self.info.lab

    @property
    def seen(self) -> str:
        """Half a sentence, which adds if most of the waiting is at the beginning of epochs."""
        if not self._is_at_epoch_starts:
            return self.info.summary
        start = epoch_starts.compare(self.breakdown)
        often = f": {start.comparison}" if start else ""
        return f"{self.info.summary}, most of it where an epoch begins{often}"

    @property
    def _is_at_epoch_starts(self) -> bool:
        """Whether most of the waiting is in the first steps of epochs."""
        return epoch_starts.share_of(self.breakdown, self.kind) >= EPOCH_START_SHARE

    @property
    def cure(self) -> str:
        """Depends on how the script loads, and on what it uses already."""
        loader, first = self.breakdown.script.loader, self.breakdown.reports[0]
        if loader is None:
            return (
                "The batches come from an iterator of the script's own. Make it the data set of a "
                f"DataLoader (an IterableDataset), with `num_workers` processes; or {STORE}."
            )
        if self._is_at_epoch_starts and loader.workers and not loader.persistent:
            them = "it" if loader.workers == 1 else "them"
            return (
                f"The loader starts its {_workers(loader.workers)} again in each epoch: "
                f"keep {them}, with `persistent_workers=True`."
            )
        if self._is_at_epoch_starts:
            return (
                "Move the work that the data set and the sampler repeat at each epoch to before "
                "the first one."
            )
        if loader.opened * 2 > len(self.breakdown.times):
            return (
                "The loader is started again for each batch, as by `next(iter(loader))`: keep one "
                "iterator for the whole epoch, and call `next` on that."
            )
        if not loader.workers:
            parts = " Each worker of a stream must give a part of its own." if loader.stream else ""
            return (
                "Let processes prepare the next batches: `num_workers` of the DataLoader, at most "
                f"a core each; or {STORE}.{parts}"
            )
        cores = first.cores // max(1, first.local)
        if loader.workers < cores:
            return (
                f"The loader's {_workers(loader.workers)} cannot keep up: give it more, at most a "
                f"core each; or {STORE}."
            )
        return (
            f"The loader has as many workers as there are cores for them: make a sample cheaper, "
            f"or {STORE}."
        )


def _workers(count: int) -> str:
    return "worker" if count == 1 else f"{count} workers"
