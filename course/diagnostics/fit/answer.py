"""The answer of `fit`: on how many GPUs of which size a script fits, and how to make it fit."""

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from course.core import words
from course.diagnostics.answers import output
from course.diagnostics.fit import command
from course.diagnostics.fit.client import Client, NotFollowed, Rehearsal, Setup, open_client
from course.diagnostics.fit.result import Advice, FitResult, RehearsedRun

if TYPE_CHECKING:
    from course.drawing import Picture

SMALLER = 3  # smaller batches to try at most, each half of the one before
LARGER = 2  # rehearsals at most to confirm the largest batch that fits
ADVISED_CHANGES = {
    "autocast": "bfloat16 autocast around the model's forward pass",
    "checkpoint": "activation checkpointing of the repeated layers",
    "shard": "fully_shard by layers over {} instead of DDP",
}
OFFLOAD, MORE_GPUS = "offload", "more GPUs"

Trial = tuple[Advice, dict[str, object]]  # what was tried, and the changes of its rehearsal


class FitAnswer(FitResult):
    """A result to show: a terminal prints its text, a notebook draws a picture."""

    @property
    def picture(self) -> "Picture":
        """Draw the memory over the steps, a panel for each number of GPUs."""
        from course.diagnostics.fit import picture  # not needed in a terminal, and slow to import

        return picture.draw(self)

    def __str__(self) -> str:
        from course.diagnostics.fit import text

        return text.text(self)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        picture = self.picture
        return {"image/svg+xml": str(picture), "text/plain": picture.alt}


def fit_answer(args: argparse.Namespace) -> FitAnswer:
    """Rehearse the command, and answer where it fits; raises `CourseError` if that fails."""
    with open_client(command.script(args.command)) as client:
        result = advise(client, args.gpus, args.memory)
    result.one_gpu_s = args.step_ms and args.step_ms / 1000
    if args.json:
        output.write(args.json, "fit", args.command, [], **result.plain())
    return result


def advise(client: Client, gpus: Sequence[int], memory: Sequence[int]) -> FitAnswer:
    """Rehearse with each number of GPUs, and with changes if it does not fit on all.

    `memory` has the sizes of a GPU in bytes. Raises `NotFollowed` if a rehearsal fails.
    """
    rehearsals: list[Rehearsal] = []
    for outcome in client.rehearse_all([(ranks, {}) for ranks in gpus]):
        if isinstance(outcome, NotFollowed):
            raise outcome
        rehearsals.append(outcome)
    runs = [RehearsedRun(rehearsal, size) for rehearsal in rehearsals for size in sorted(memory)]
    result = FitAnswer(runs)
    missing = [run for run in runs if not run.fits]
    if missing:
        result.target = max(missing, key=lambda run: (run.rehearsal.ranks, run.memory))
        result.advice = _advice(client, result.target, runs)
    result.largest = _largest(client, result.target or runs[-1])
    return result


def _advice(client: Client, target: RehearsedRun, runs: Sequence[RehearsedRun]) -> list[Advice]:
    """Try changes, the cheapest first; if none is enough, try those that help together."""
    trials = list(_single_changes(client, target, runs))
    advice = [trial for trial, _ in trials]
    if not any(trial.peak <= target.memory for trial in advice):
        advice += _combined_changes(client, target, trials)
    return advice


def _single_changes(
    client: Client, target: RehearsedRun, runs: Sequence[RehearsedRun]
) -> Iterator[Trial]:
    """Try single changes, the cheapest first: they cost time, then precision, code, more GPUs."""
    ranks, memory = target.rehearsal.ranks, target.memory
    for batch, passes in _smaller(target.rehearsal.batch):
        if run := _with_batch(client, target, batch, passes=passes):
            do = f"batches of {batch}, with {passes} backward passes for each step"
            yield Advice(do, run.peak), {"batch": batch, "passes": passes}
            if run.fits:
                break
    more = [run for run in runs if run.rehearsal.ranks > ranks and run.memory == memory]
    setups: dict[str, Setup] = {name: (ranks, {name: True}) for name in (*ADVISED_CHANGES, OFFLOAD)}
    setups |= {} if more else {MORE_GPUS: (2 * ranks, {})}
    outcomes = dict(zip(setups, client.rehearse_all(list(setups.values())), strict=True))
    for name, do in ADVISED_CHANGES.items():
        rehearsal = outcomes[name]
        if isinstance(rehearsal, Rehearsal) and name in rehearsal.applied_changes:
            do = do.format(words.plural(ranks, "GPU"))
            yield Advice(do, RehearsedRun(rehearsal, memory).peak), {name: True}
    if isinstance(rehearsal := outcomes.get(MORE_GPUS), Rehearsal):
        more = [RehearsedRun(rehearsal, memory)]
    if more and more[0].peak < target.peak:
        yield Advice(words.plural(more[0].rehearsal.ranks, "GPU"), more[0].peak), {}
    offload = outcomes[OFFLOAD]
    if (
        isinstance(offload, Rehearsal)
        and OFFLOAD in offload.applied_changes
        and offload.account.uses_gpu
    ):
        host = words.size(offload.account.host, 3)
        do = f"fully_shard with CPUOffloadPolicy, and {host} of the host's memory for each GPU"
        yield Advice(do, RehearsedRun(offload, memory).peak), {OFFLOAD: True}


def _combined_changes(
    client: Client, target: RehearsedRun, trials: Sequence[Trial]
) -> list[Advice]:
    """Add up the changes that help until the script fits; [] if fewer than two help."""
    helpful = {  # by the name of the change: of several batch sizes, only the smallest stays
        next(iter(changes)): (advice.do, changes)
        for advice, changes in trials
        if changes and advice.peak < target.peak
    }
    sentences: dict[str, str] = {}
    changes: dict[str, object] = {}
    setups = []
    for name, (do, change) in helpful.items():
        sentences[name], changes = do, changes | change
        if name == OFFLOAD and "shard" in sentences:  # an offloaded model is sharded as well
            del sentences["shard"], changes["shard"]
        if len(sentences) > 1:
            setups.append((f"together, {'; '.join(sentences.values())}", changes))
    if not setups:
        return []
    outcomes = client.rehearse_all([(target.rehearsal.ranks, changes) for _, changes in setups])
    advice = [
        Advice(do, RehearsedRun(outcome, target.memory).peak)
        for (do, changes), outcome in zip(setups, outcomes, strict=True)
        if isinstance(outcome, Rehearsal)
        and changes.keys() - {"passes"} <= set(outcome.applied_changes)
    ]
    enough = [combined for combined in advice if combined.peak <= target.memory]
    return (enough or advice[-1:])[:1]


def _smaller(batch: int | None) -> Iterator[tuple[int, int]]:
    for halvings in range(1, SMALLER + 1):
        passes = 2**halvings
        if batch and not batch % passes:
            yield batch // passes, passes


def _with_batch(
    client: Client, base: RehearsedRun, batch: int, **changes: object
) -> RehearsedRun | None:
    """Rehearse with batches of another size; None if no loader takes it, or that fails."""
    try:
        rehearsal = client.rehearse(base.rehearsal.ranks, batch=batch, **changes)
    except NotFollowed:
        return None
    return RehearsedRun(rehearsal, base.memory) if "batch" in rehearsal.applied_changes else None


def _largest(client: Client, base: RehearsedRun) -> tuple[int, RehearsedRun] | None:
    """Find the largest batch that fits, by a line through two sizes, and rehearse it to be sure."""
    batch = base.rehearsal.batch
    if not batch:
        return None
    double = _with_batch(client, base, 2 * batch)
    if double is None or double.peak <= base.peak:
        return None
    per_sample = (double.peak - base.peak) / batch
    guess = int(batch + (base.memory - base.peak) / per_sample)
    for _ in range(LARGER):
        if guess < 1:
            return None
        run = _with_batch(client, base, guess)
        if run is None:
            return None
        if run.fits:
            return guess, run
        guess -= max(1, int((run.peak - base.memory) / per_sample) + 1)
    return None
