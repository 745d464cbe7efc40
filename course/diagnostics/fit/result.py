"""The outcome of rehearsals as plain data: the memory needed for each number and size of GPUs."""

from dataclasses import dataclass, field
from functools import cached_property

from course.diagnostics.fit import overhead
from course.diagnostics.fit.client import Rehearsal


@dataclass(frozen=True)
class RehearsedRun:
    """A rehearsal, and the `memory` in bytes of each GPU that it is judged for."""

    rehearsal: Rehearsal
    memory: int

    @property
    def peak(self) -> int:
        """The bytes that each GPU needs: those of the allocator for tensors, and all others."""
        return self.rehearsal.account.reserved + overhead.nbytes(self.rehearsal.ranks)

    @property
    def fits(self) -> bool:
        """Whether each GPU has enough memory."""
        return self.peak <= self.memory

    @property
    def by(self) -> dict[str, int]:
        """The bytes of each kind at the peak; memory besides tensors counts as other."""
        kinds = dict(self.rehearsal.account.by)
        kinds["other"] += self.peak - self.rehearsal.account.peak
        return kinds

    def plain(self) -> dict[str, object]:
        """As JSON."""
        return {
            "gpus": self.rehearsal.ranks,
            "memory_bytes": self.memory,
            "fits": self.fits,
            "peak_bytes": self.peak,
            "at": self.rehearsal.account.at,
            "by": self.by,
        }


@dataclass(frozen=True)
class Advice:
    """A change that was rehearsed, and the bytes that each GPU needs with it."""

    do: str
    peak: int

    def plain(self) -> dict[str, object]:
        """As JSON."""
        return {"do": self.do, "peak_bytes": self.peak}


@dataclass
class FitResult:
    """The runs by number and size of GPUs, and advice for `target`, the run that should fit.

    `largest` is the largest batch of the loaders that fits, with its run. `one_gpu_s` is how long a
    step takes on one GPU, in seconds, if the user gave that.
    """

    runs: list[RehearsedRun]
    target: RehearsedRun | None = None
    advice: list[Advice] = field(default_factory=list)
    largest: tuple[int, RehearsedRun] | None = None
    one_gpu_s: float | None = None

    @cached_property
    def rehearsals(self) -> list[Rehearsal]:
        """The rehearsals, one for each number of GPUs."""
        return list({run.rehearsal.ranks: run.rehearsal for run in self.runs}.values())

    @property
    def assumed(self) -> list[str]:
        """The lines of the script whose values were assumed."""
        return sorted({line for rehearsal in self.rehearsals for line in rehearsal.assumed})

    @property
    def notes(self) -> list[str]:
        """Sentences on what makes the answer less certain."""
        notes = [note for rehearsal in self.rehearsals for note in rehearsal.notes]
        return list(dict.fromkeys(notes))

    def plain(self) -> dict[str, object]:
        """As JSON."""
        return {
            "runs": [run.plain() for run in self.runs],
            "advice": [advice.plain() for advice in self.advice],
            "assumed": self.assumed,
            "notes": self.notes,
        }
