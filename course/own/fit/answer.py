"""What `fit` answers: for each number of GPUs and each size, whether it fits; then what would."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from course.core import words
from course.own.fit.result import Advice, Result, Run
from course.own.fit.stage import NotFollowed, Stage

if TYPE_CHECKING:
    from course.drawing import Picture

SMALLER = 3  # how many smaller batches are tried, each half of the one before
LARGER = 2  # how often the largest batch is rehearsed before it is believed


class Answer(Result):
    """A result for people: as text, and in a notebook as a picture."""

    @property
    def picture(self) -> "Picture":
        """The memory over the steps, for each number of GPUs."""
        from course.own.fit import picture  # not needed in a terminal, and slow to import

        return picture.draw(self)

    def __str__(self) -> str:
        from course.own.fit import text

        return text.text(self)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        picture = self.picture
        return {"image/svg+xml": str(picture), "text/plain": picture.alt}


def answer(stage: Stage, gpus: Sequence[int], memory: Sequence[int]) -> Answer:
    """Rehearse with each number of GPUs; then with changes, if something does not fit."""
    found = [stage.rehearse(ranks) for ranks in gpus]
    runs = [Run(each, size) for each in found for size in sorted(memory)]
    answer = Answer(runs)
    missing = [run for run in runs if not run.fits]
    if missing:
        answer.target = max(missing, key=lambda run: (run.rehearsal.ranks, run.memory))
        answer.advice = list(_advice(stage, answer.target, runs))
    base = answer.target or runs[-1]
    answer.largest = _largest(stage, base)
    return answer


def _advice(stage: Stage, target: Run, runs: Sequence[Run]) -> Iterator[Advice]:
    """The cheapest first: what costs time alone, then precision, then another script, then GPUs."""
    ranks, memory = target.rehearsal.ranks, target.memory
    for batch, passes in _smaller(target.rehearsal.batch):
        if run := _changed(stage, target, {"batch", "passes"}, batch=batch, passes=passes):
            yield Advice(
                f"batches of {batch}, with {passes} backward passes for each step", run.peak
            )
            if run.fits:
                break
    for do, name in (
        ("bfloat16 autocast around the model's forward pass", "autocast"),
        ("activation checkpointing of the repeated layers", "checkpoint"),
        (f"fully_shard by layers over {ranks} GPUs in place of DDP", "shard"),
    ):
        if run := _changed(stage, target, {name}, **{name: True}):
            yield Advice(do, run.peak)
    for run in runs:
        if run.fits and run.memory == memory:
            yield Advice(words.plural(run.rehearsal.ranks, "GPU"), run.peak)
            break


def _smaller(batch: int | None) -> Iterator[tuple[int, int]]:
    for halvings in range(1, SMALLER + 1):
        passes = 2**halvings
        if batch and not batch % passes:
            yield batch // passes, passes


def _changed(stage: Stage, base: Run, needed: set[str], **changes: object) -> Run | None:
    """The run with changes; None if the script has nothing to change, or it fails with them."""
    try:
        found = stage.rehearse(base.rehearsal.ranks, **changes)
    except NotFollowed:
        return None
    if not needed - {"passes"} <= set(found.made):
        return None
    return Run(found, base.memory)


def _largest(stage: Stage, base: Run) -> tuple[int, Run] | None:
    """The largest batch that fits, by a line through two sizes; it is rehearsed, too."""
    batch = base.rehearsal.batch
    if not batch:
        return None
    double = _changed(stage, base, {"batch"}, batch=2 * batch)
    if double is None or double.peak <= base.peak:
        return None
    each = (double.peak - base.peak) / batch
    guess = int(batch + (base.memory - base.peak) / each)
    for _ in range(LARGER):
        if guess < 1:
            return None
        run = _changed(stage, base, {"batch"}, batch=guess)
        if run is None:
            return None
        if run.fits:
            return guess, run
        guess -= max(1, int((run.peak - base.memory) / each) + 1)
    return None
