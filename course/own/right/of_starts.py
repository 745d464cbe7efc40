"""What is unlike before anything is computed: weights, modes, precision, settings, rates."""

from collections import Counter
from collections.abc import Callable, Iterator

from course.core import words
from course.own.finding import Finding
from course.own.numbers.record import Other
from course.own.right import table
from course.own.right.compared import Compared
from course.own.right.evidence import Evidence, listed, odd_one
from course.own.right.table import DIFFERS, EQUAL, NOT_SEEN, Row, some
from course.own.right.thresholds import SINCE

Result = Iterator[Finding | Row]


def weights(run: Evidence) -> Result:
    """Are they equal at the start, where something ties the ranks?"""
    if run.is_split:
        yield Row(table.START, NOT_SEEN, run.is_split)
        return
    if run.is_sharded:
        yield Row(table.START, NOT_SEEN, "each rank keeps a shard of its own")
        return
    for number in range(min(len(rank.wrapped) for rank in run.ranks)):
        wraps = [rank.wrapped[number] for rank in run.ranks]
        if len({tuple(each.first) for each in wraps if each.first}) < 2:
            continue
        names = _unlike(wraps[0].names, [each.first for each in wraps])
        changed = [each.first != each.then for each in wraps]
        ranks = [rank for rank, each in zip(run.numbers, changed, strict=True) if each]
        one = ranks[0] if len(ranks) == 1 else odd_one([str(w.first) for w in wraps], run.numbers)
        where = _changed_at(run, ranks or run.numbers) or wraps[0].made_at
        on = f"rank {one}" if one is not None else "the ranks"
        yield Row(table.START, DIFFERS, f"{words.plural(len(names), 'weight tensor')} differ")
        yield Finding(
            "start",
            f"The weights differ when training starts ({some(names)}): {on} changed them at "
            f"{where} after DDP had made them equal. DDP averages gradients and never looks at the "
            "weights again, so the ranks train different models.",
            "Change weights before you wrap the model in DDP, or change them on all ranks alike.",
            "03", one, 1, where,
        )  # fmt: skip
        return
    for one in run.optimizers:
        tied = set(one.unlike) - one.own_parts
        if tied and (run.averages or run.ranks[0].wrapped):
            yield from _unlike_start(run, one)
            return
    if not run.steps:
        yield Row(table.START, NOT_SEEN, "no step of an optimizer was seen")
    elif all(one.starts_equal for one in run.optimizers):
        yield Row(table.START, EQUAL, "on all ranks before the first step")
    elif run.is_tied and all(set(one.unlike) <= one.own_parts for one in run.optimizers):
        yield Row(table.START, EQUAL, "but for a part of the model that each rank has of its own")
    else:
        yield Row(table.START, NOT_SEEN, "they differ, and nothing was seen that ties the ranks")


def _unlike_start(run: Evidence, one: Compared) -> Result:
    befores = [step.before for step in one.steps[0]]
    names = _unlike(one.names, befores)
    yield Row(table.START, DIFFERS, f"{words.plural(len(names), 'weight tensor')} differ")
    line, ranks = run.changed(_equal_until(run, one), [step.passes for step in one.steps[0]])
    if line:
        yield Finding(
            "start",
            f"The weights differ before the first step of an optimizer ({some(names)}), since only "
            f"{listed(ranks)} changed them at {line}. Equal gradients then train different models.",
            "Change weights on all ranks alike, or send them from one rank to all with "
            "dist.broadcast.",
            "03", ranks[0] if len(ranks) == 1 else None, 1, line,
        )  # fmt: skip
        return
    rank = odd_one([tuple(each) for each in befores], run.numbers)
    place = next(p for p in range(len(one.names)) if len({each[p] for each in befores}) > 1)
    lines = one.each[0].made
    where = (lines[place] if place < len(lines) else "") or one.each[0].made_at
    yield Finding(
        "start",
        f"The weights differ before the first step ({some(names)}), though the ranks combine "
        "their gradients: each rank applies the same updates to another model.",
        "Send rank 0's weights to all ranks before the first step "
        "(dist.broadcast for each parameter), or let DDP do so.",
        "03", rank, 1, where,
    )  # fmt: skip


def _equal_until(run: Evidence, one: Compared) -> list[int]:
    """The backward passes of each rank after which weights were still equal; all in building."""
    rows = [
        row
        for other in run.optimizers
        for row in other.steps
        if len({tuple(step.after) for step in row}) == 1
        and all(step.passes < first.passes for step, first in zip(row, one.steps[0], strict=True))
    ]
    last = max(rows, key=lambda row: row[0].passes, default=())
    return [step.passes for step in last] or [0] * run.count


def _changed_at(run: Evidence, ranks: list[int]) -> str:
    """The line that changed weights last before the first pass: one that other ranks lack."""
    ours = [r for r in run.ranks if r.rank in ranks]
    theirs = {each.line for r in run.ranks if r.rank not in ranks for each in r.changes}
    lines = [each.line for each in ours[0].changes if each.passes == 0]
    return next(iter([each for each in lines[::-1] if each not in theirs] or lines[::-1]), "")


def _unlike(names: list[str], marks: list[list[int]]) -> list[str]:
    return [
        name for name, each in zip(names, zip(*marks, strict=True), strict=False)
        if len(set(each)) > 1
    ]  # fmt: skip


def modes(run: Evidence) -> Result:
    """Do the ranks train in the same mode, and does none stay in evaluation?"""
    found = yield from _described(run, "modes", table.MODE)
    if found:
        step, values, line = found
        rank = odd_one(values, run.numbers)
        if rank is None and values.count("evaluation") == 1:
            rank = run.numbers[values.index("evaluation")]
        yield Finding(
            "mode",
            f"The ranks call the model in different modes since step {step} "
            f"({run.by_rank(values)}): dropout and batch norm do something else on each.",
            "Call model.train() on all ranks before the training goes on.",
            "04c", rank, step, line,
        )  # fmt: skip
    elif run.steps and (step := _stays_in_evaluation(run)):
        line = run.optimizers[0].steps[step - 1][0].latest[0].called
        yield Finding(
            "mode",
            f"All ranks train in evaluation mode since step {step}; before, they trained in "
            "training mode. Dropout is off, and batch norm no longer learns its statistics.",
            "Call model.train() after each evaluation.",
            "", None, step, line,
        )  # fmt: skip


def _stays_in_evaluation(run: Evidence) -> int:
    """The first of the last steps that are in evaluation, if the first ones were not; else 0."""
    modes = [row[0].latest[0].modes if row[0].latest else "" for row in run.optimizers[0].steps]
    last = len(modes)
    while last and modes[last - 1] == "evaluation":
        last -= 1
    enough = len(modes) - last > SINCE and "training" in modes[:last]
    return last + 1 if enough and run.ranks[0].evaluated else 0


def precision(run: Evidence) -> Result:
    """Do the ranks compute in the same precision?"""
    found = yield from _described(run, "precision", table.PRECISION)
    if found:
        step, values, line = found
        yield Finding(
            "precision",
            f"The ranks compute in different precision since step {step} ({run.by_rank(values)}).",
            "Choose the dtype and autocast from what is the same on all ranks.",
            "05b", odd_one(values, run.numbers), step, line,
        )  # fmt: skip


def _described(
    run: Evidence, what: str, row: str
) -> Iterator[Row]:  # and returns the first step that differs, its values, the line
    if not run.is_tied:
        yield Row(row, NOT_SEEN, run.is_split or "nothing was seen that ties the ranks")
        return None
    differing, looked = [], 0
    for one in run.optimizers:
        for number, steps in enumerate(one.steps, 1):
            for passes in run.passes(steps):
                values = [getattr(each, what) for each in passes]
                looked += all(values)
                if all(values) and len(set(values)) > 1:
                    differing.append((number, values, passes[-1].called))
    if len({number for number, _, _ in differing}) >= SINCE:
        yield Row(row, DIFFERS, f"since step {differing[0][0]}")
        return differing[0]
    if looked:
        yield Row(row, EQUAL, "at each call of the model")
    else:
        yield Row(row, NOT_SEEN, "no call of a model with gradients was seen")
    return None


def settings(run: Evidence) -> Result:
    """Have the optimizers the same settings and rates?"""
    yield from _settings(run)
    yield from _rates(run)


def _settings(run: Evidence) -> Result:
    if not run.is_tied or not run.steps:
        yield Row(table.SETTINGS, NOT_SEEN, run.why_untied)
        return
    for one in run.optimizers:
        for number, row in enumerate(one.steps, 1):
            values = [f"{o.name}: {step.settings}" for o, step in zip(one.each, row, strict=True)]
            if len(set(values)) > 1:
                where = one.each[-1].made_at
                yield Row(table.SETTINGS, DIFFERS, f"since step {number}")
                yield Finding(
                    "settings",
                    f"The optimizers have different settings since step {number}: "
                    f"{_difference(values, run.numbers)}. The ranks turn equal gradients into "
                    "different weights.",
                    "Give the optimizer the same settings on all ranks.",
                    "04c", odd_one(values, run.numbers), number, where,
                )  # fmt: skip
                return
    yield Row(table.SETTINGS, EQUAL, "in each step")


def _difference(values: list[str], ranks: list[int]) -> str:
    parts = [set(each.replace(";", ",").split(", ")) for each in values]
    common = set.intersection(*parts)
    return ", ".join(
        f"rank {rank} has {' '.join(sorted(part - common)) or 'less'}"
        for rank, part in zip(ranks, parts, strict=True)
    )


def _rates(run: Evidence) -> Result:
    if not run.is_tied or not run.steps:
        yield Row(table.RATE, NOT_SEEN, run.why_untied)
        return
    for one in run.optimizers:
        for number, row in enumerate(one.steps, 1):
            values = [tuple(step.rates) for step in row]
            if len(set(values)) > 1:
                scheduled = next((s.schedule_line for s in row if s.schedule_line), "")
                where = one.each[-1].made_at if number == 1 or not scheduled else scheduled
                rates = ", ".join(
                    f"rank {r}: {v[0]:g}" for r, v in zip(run.numbers, values, strict=True)
                )
                yield Row(table.RATE, DIFFERS, f"since step {number}: {rates}")
                yield Finding(
                    "learning rate",
                    f"The ranks have different learning rates since step {number} ({rates}), so "
                    "equal gradients make different weights.",
                    "Let all ranks decide by the same numbers: average a loss over the ranks "
                    "before a schedule sees it, and scale a rate by the world size on all ranks.",
                    "04c", odd_one(values, run.numbers), number, where,
                )  # fmt: skip
                return
    yield Row(table.RATE, EQUAL, "in each step")


def drifted(run: Evidence) -> int:
    """The first step after which weights differ, of those that the ranks should keep equal."""
    for one in run.optimizers:
        for number, row in enumerate(one.steps, 1):
            if len({tuple(step.after) for step in row}) > 1:
                return number
    return 0


def others(run: Evidence) -> Result:
    """Is a model that is only asked, such as a teacher, the same on all ranks?"""
    if not run.is_tied:
        yield Row(table.OTHERS, NOT_SEEN, run.is_split or "nothing was seen that ties the ranks")
        return
    alike = _called_alike(run)
    for row in alike:
        first = row[0]
        if first.trains or len({each.checksum for each in row}) == 1:
            continue
        if first.steps and (drifted(run) or any(one.own_parts for one in run.optimizers)):
            continue
        marks = [each.checksum for each in row]
        when = f", first after step {first.steps}," if first.steps else ""
        yield Row(table.OTHERS, DIFFERS, f"{first.name} at {first.line}")
        yield Finding(
            "other model",
            f"The {first.name} that is called without gradients at {first.line}{when} has other "
            "weights on each rank, so its answers differ from rank to rank.",
            "Build it from the same seed or checkpoint on all ranks, copy it from the model after "
            "DDP has made that equal, or broadcast its weights.",
            "03", odd_one(marks, run.numbers), max(1, first.steps), first.made_at or first.line,
        )  # fmt: skip
        return
    calls = Counter(each.name for row in alike for each in row[:1])
    says = f"{', '.join(calls)}, when first called" if calls else "all ranks have called none"
    yield Row(table.OTHERS, EQUAL if calls else NOT_SEEN, says)


def _called_alike(run: Evidence) -> list[list[Other]]:
    """Those that all ranks first called at the same line after the same step."""
    by_rank = []
    for rank in run.ranks:
        found: dict[tuple, Other] = {}
        for each in rank.others:
            key = each.name, each.line, each.steps
            number = sum(other[:3] == key for other in found)
            found[*key, number] = each
        by_rank.append(found)
    return [
        [found[key] for found in by_rank]
        for key in by_rank[0]
        if all(key in found for found in by_rank)
    ]


RULES: tuple[Callable[[Evidence], Result], ...] = (weights, others, modes, precision, settings)
