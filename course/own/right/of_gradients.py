"""What becomes of each rank's gradient: is it averaged, and is it left alone after that?"""

from collections.abc import Callable, Iterator

from course.core import words
from course.own.finding import Finding
from course.own.right import table
from course.own.right.compared import APART, MEAN, NONE, OTHER, OWN, Compared, Kind
from course.own.right.evidence import Evidence
from course.own.right.table import DIFFERS, EQUAL, NOT_SEEN, Row
from course.own.right.thresholds import FACTOR, HALF, NEAR

Result = Iterator[Finding | Row]


def own(run: Evidence) -> Result:
    """Does each rank compute a gradient of its own?"""
    kinds = [used[p] for one in run.optimizers for _, _, used in one.kinds for p in one.has]
    if not kinds:
        yield Row(table.OWN, NOT_SEEN, why_no_gradients(run))
    elif any(each.distinct for each in kinds):
        yield Row(table.OWN, DIFFERS, "each rank computes one of its own, as it must")
    else:
        yield Row(table.OWN, EQUAL, "bit by bit: the ranks do the same work")


def why_no_gradients(run: Evidence) -> str:
    """Why the gradients of no step were compared."""
    if run.is_sharded:
        return "fully_shard keeps gradients of its own, which no hook sees"
    if run.is_split:
        return run.is_split
    if any(step.closure for one in run.optimizers for row in one.steps for step in row):
        return "the optimizer computes its gradients itself, in a closure"
    return run.unseen("own gradient") or "no step with gradients was seen"


def averaged(run: Evidence) -> Result:
    """Is the gradient that an optimizer uses the mean of the ranks' own?"""
    if run.is_split or run.is_sharded or not any(one.kinds for one in run.optimizers):
        yield Row(table.USED, NOT_SEEN, why_no_gradients(run))
        return
    if pending := _not_waited_for(run):
        yield Row(table.USED, DIFFERS, "the messages were not waited for")
        yield Finding(
            "not averaged",
            f"The optimizer uses the gradients before they have arrived: nothing waits for the "
            f"message that begins at {pending}.",
            "Keep what the call with async_op=True returns, and call its wait() before the step.",
            "02", None, 1, pending,
        )  # fmt: skip
        return
    for one in run.optimizers:
        alone = one.mostly(OWN)
        if alone and (found := _not_averaged(run, one, alone)):
            names = _some([one.names[place] for place in alone])
            yield Row(table.USED, DIFFERS, f"each rank uses its own of {names}")
            yield found
            return
    if run.averages_weights:
        yield Row(table.USED, NOT_SEEN, "the ranks average their weights instead, now and then")
    elif any(one.mostly(MEAN) for one in run.optimizers):
        yield Row(table.USED, EQUAL, _says_mean(run))
    elif any(one.mostly(OTHER) for one in run.optimizers):
        yield Row(table.USED, NOT_SEEN, "equal on all ranks, but combined in another way")
    elif all(not used[p].distinct for o in run.optimizers for _, _, used in o.kinds for p in o.has):
        yield Row(table.USED, NOT_SEEN, "the ranks' own gradients are equal, so it does not show")
    else:
        yield Row(table.USED, NOT_SEEN, "the ranks' gradients are not combined in a known way")


def _says_mean(run: Evidence) -> str:
    factors = {round(factor, 2) for one in run.optimizers for factor in _factors(one)}
    times = (
        "" if factors <= {1.0} else f", times {', '.join(f'{each:g}' for each in sorted(factors))}"
    )
    return f"on all ranks{times}"


def _factors(one: Compared) -> list[float]:
    return [first[p].factor for _, first, _ in one.kinds for p in one.has if first[p].name == MEAN]


def _not_waited_for(run: Evidence) -> str:
    if run.ranks[0].wrapped:
        return ""
    for one in run.optimizers:
        lines = [row[0].pending for row in one.steps]
        if sum(map(bool, lines)) > HALF * len(lines):
            return next(filter(None, lines))
    return ""


def _not_averaged(run: Evidence, one: Compared, alone: list[int]) -> Finding | None:
    """Why the gradients of these parameters are each rank's own; None if they may be."""
    if run.averages_weights:
        return None
    names = _some([one.names[place] for place in alone])
    steps = f"{len(one.kinds)} of {len(one.kinds)} steps looked at"
    wraps = run.ranks[0].wrapped
    ignored = {name for each in wraps for name in each.ignored}
    if all(one.names[place] in ignored for place in alone):
        return None
    if len(alone) < len(one.has):
        if not one.starts_equal:
            return None
        where = one.each[0].made[alone[0]] or one.each[0].made_at
        return Finding(
            "not averaged",
            f"The gradients of {names} are not averaged, those of the others are: each rank trains "
            f"its own {words.plural(len(alone), 'tensor')} of them.",
            "Put all that is trained into the model that DDP wraps, or average the rest as well.",
            "03", None, 1, where,
        )  # fmt: skip
    passes = [each for _, row in one.whole for each in row[0].latest]
    bypassed = next((each.bypassed for each in passes if each.bypassed), "")
    line = passes[-1].line if passes else ""
    inside = {name for each in wraps for name in each.names}
    if wraps and (bypassed or any(one.names[place] in inside for place in alone)):
        if bypassed:
            return Finding(
                "not averaged",
                f"No gradient is averaged in {steps}: the model is called at {bypassed} past DDP, "
                "on the module inside, so DDP never learns of the backward pass. Each rank trains "
                "a model of its own.",
                "Call the wrapped model itself, model(...), not model.module or a part of it. If "
                "you need more than one method, put the loss into the module's forward.",
                "03", None, 1, bypassed,
            )  # fmt: skip
        if passes and not any(each.syncs for each in passes):
            return Finding(
                "not averaged",
                f"No gradient is averaged in {steps}: DDP's no_sync was on in every forward pass, "
                "or the model was not called through DDP.",
                "Leave the last pass before the step, forward and backward, outside of no_sync.",
                "03b", None, 1, passes[-1].called or line,
            )  # fmt: skip
        return Finding(
            "not averaged",
            f"No gradient is averaged in {steps}, though the model is in DDP.",
            "Call the model through DDP, and step the optimizer of its own parameters.",
            "03", None, 1, line,
        )  # fmt: skip
    if not one.starts_equal or (wraps and not run.averages):
        return None
    sent = sum(run.ranks[0].sends.get(kind, 0) for kind in ("backward", "between", "step"))
    says = (
        "The ranks send messages, but each optimizer uses its rank's own gradients"
        if sent
        else f"Nothing was averaged in the {len(one.steps)} steps watched: the ranks began with "
        "equal weights, and each uses its own gradients"
    )
    return Finding(
        "not averaged",
        f"{says}, so each rank trains a model of its own.",
        "Wrap the model in DDP, or all-reduce each gradient and divide by the world size before "
        "the step.",
        "02", None, 1, line,
    )  # fmt: skip


def between(run: Evidence) -> Result:
    """Does anything change gradients on one rank, or clip before it may?"""
    found = None
    for one in run.optimizers:
        found = found or _early_clip(run, one) or _clips_before(run, one) or _changed(run, one)
    if found:
        yield Row(table.BETWEEN, DIFFERS, found.says)
        yield found
    elif run.is_sharded and (found := _shards_scaled(run)):
        yield Row(table.BETWEEN, DIFFERS, found.says)
        yield found
    elif not any(one.kinds for one in run.optimizers):
        yield Row(table.BETWEEN, NOT_SEEN, why_no_gradients(run))
    elif run.averages:
        yield Row(table.BETWEEN, EQUAL, "gradients change alike on all ranks, if at all")
    else:
        yield Row(table.BETWEEN, NOT_SEEN, "no gradient was seen to be averaged")


def _early_clip(run: Evidence, one: Compared) -> Finding | None:
    lines = [step.early_clip for row in one.steps for step in row]
    if sum(map(bool, lines)) <= HALF * max(1, len(lines)):
        return None
    where = next(filter(None, lines))
    return Finding(
        "clip",
        f"The gradients are clipped at {where} while the scaler's factor is still in them, so "
        "their norm is far above the limit in every step.",
        "Call scaler.unscale_(optimizer) before you clip.",
        "05", None, 1, where,
    )  # fmt: skip


def _clips_before(run: Evidence, one: Compared) -> Finding | None:
    """Each rank clips its own gradient, and these are combined then."""
    clipped = changed = 0
    where = ""
    for (_, first, used), (_, row) in zip(one.kinds, one.whole, strict=True):
        places = [p for p in one.has if first[p].name not in (NONE,)]
        if not row[0].clips or not places:
            continue
        clipped += 1
        if all(first[p].name == OWN and used[p].name in (MEAN, OTHER) for p in places):
            where = row[0].clips[0]
            changed += any(
                used[p].name == OTHER or abs(used[p].factor - 1) > FACTOR for p in places
            )
    if not changed or changed <= HALF * clipped:
        return None
    return Finding(
        "clip",
        f"Each rank clips its own gradient at {where}, and the average comes after that: the ranks"
        " are weighted by their norms, and the average is shorter than the limit.",
        "Average the gradients first, then clip.",
        "03", None, 1, where,
    )  # fmt: skip


def _changed(run: Evidence, one: Compared) -> Finding | None:
    """The gradients are equal at first, or should be, and one rank changes its own."""
    found: list[tuple[int, list[int]]] = []
    looked = 0
    for number, first, used in one.kinds:
        places = [p for p in one.has if used[p].name not in (NONE, "not finite")]
        apart = [p for p in places if used[p].name == APART and used[p].distinct]
        averaged = [p for p in places if first[p].name in (MEAN, OTHER)]
        looked += bool(places)
        if not apart:
            continue
        ranks = _who(apart, first, used, run.count)
        if ranks and (averaged or _others_have_the_mean(apart, used)):
            found.append((number, ranks))
    if len(found) < 2 or len(found) <= HALF * looked:
        return None
    number, ranks = found[0]
    rank = run.numbers[ranks[0]] if len(ranks) == 1 else None
    row = dict(one.whole)[number]
    clips = [step.clips for step in row]
    on = f"on rank {rank}" if rank is not None else "on each rank in another way"
    if any(clips):
        where = next(each[0] for each in clips if each)
        return Finding(
            "clip",
            f"The gradients are clipped {on} (at {where}) after they were averaged, so the ranks "
            "use different ones.",
            "Clip on all ranks, by the same limit.",
            "04c", rank, number, where,
        )  # fmt: skip
    return Finding(
        "changed gradient",
        f"The gradients are changed {on} after they were averaged, before {row[0].line}: the ranks"
        " use different ones, and their weights part.",
        "Change gradients on all ranks alike, or before they are averaged.",
        "04c", rank, number, row[0].line,
    )  # fmt: skip


def _who(places: list[int], first: list[Kind], used: list[Kind], count: int) -> list[int]:
    """The places of the ranks whose gradient is no longer what it was, or not what others have."""
    wrong: set[int] = set()
    for place in places:
        now, then = used[place], first[place]
        for rank in range(count):
            begun = then.factors[rank] if then.name == MEAN else 1.0
            if now.residuals[rank] > NEAR or abs(now.factors[rank] - begun) > FACTOR:
                wrong.add(rank)
    return sorted(wrong) if len(wrong) < count or count == 2 else list(range(count))


def _others_have_the_mean(places: list[int], used: list[Kind]) -> bool:
    """Whether at least one rank uses the mean, so that the ranks do average."""
    return all(
        any(r <= NEAR and abs(f - 1) <= FACTOR
            for r, f in zip(used[p].residuals, used[p].factors, strict=True))
        for p in places
    )  # fmt: skip


def _shards_scaled(run: Evidence) -> Finding | None:
    """Each rank scales its shard by a factor of its own: the norm was not that of all shards."""
    for one in run.optimizers:
        unlike, lines, numbers = 0, [], []
        for number, row in one.shard_factors:
            if max(row) > (1 + FACTOR) * min(row):
                unlike += 1
                numbers.append(number)
                lines += [line for step in one.steps[number - 1] for line in step.clips]
        if unlike > 1 and unlike > HALF * len(one.shard_factors):
            where = next(iter(lines), one.steps[numbers[0] - 1][0].line)
            return Finding(
                "clip",
                "Each rank scales its shard of the gradients by a factor of its own: the norm was "
                "that of the shard, not that of the whole gradient.",
                "Use torch.nn.utils.clip_grad_norm_ on the sharded parameters themselves, which "
                "takes the norm over all ranks.",
                "10b", None, numbers[0], where,
            )  # fmt: skip
    return None


def zeroed(run: Evidence) -> Result:
    """Are the gradients zero when a step begins?"""
    looked = False
    for one in run.optimizers:
        dirty: list[set[int]] = []
        for _, row in one.whole[1:]:
            looked = True
            dirty.append({
                place for place, step in enumerate(row)
                if sum(not each for each in step.clean) > HALF * max(1, sum(step.got))
            })  # fmt: skip
        ranks = [p for p in range(run.count) if sum(p in d for d in dirty) > HALF * len(dirty)]
        if ranks:
            one_rank = run.numbers[ranks[0]] if len(ranks) == 1 else None
            on = "" if one_rank is None else f" on rank {one_rank}"
            where = one.steps[0][ranks[0]].line
            yield Row(table.ZERO, DIFFERS, f"those of the step before are still there{on}")
            yield Finding(
                "not zeroed",
                f"The gradients are not zero when a step begins{on}: each step also uses those of "
                "all steps before it.",
                "Call optimizer.zero_grad() once per step, on all ranks.",
                "00", one_rank, 2, where,
            )  # fmt: skip
            return
    if looked:
        yield Row(table.ZERO, EQUAL, "on all ranks")
    else:
        yield Row(table.ZERO, NOT_SEEN, why_no_gradients(run))


def _some(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


RULES: tuple[Callable[[Evidence], Result], ...] = (own, averaged, between, zeroed)
