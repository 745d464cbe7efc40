"""Find where the ranks' calls begin to differ: in which step, and what each rank called there."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from course.core import words
from course.diagnostics.finding import Finding
from course.diagnostics.run.thresholds import MAX_EXTRA_CALLS
from course.diagnostics.watch.calls import CollectiveCall
from course.diagnostics.watch.rank_states import RankState


def step(passes: int) -> int:
    """The step, counted from 0 as in a loop, in which a rank made this many backward passes."""
    return max(0, passes - 1)


def with_difference(
    finding: Finding, ranks: Sequence[RankState], waits_at: Sequence[str] = ()
) -> Finding:
    """Return the finding with its step, and a sentence on where the ranks' calls begin to differ.

    `waits_at` are the lines that the finding already names. A difference at one of them from
    step 0 on adds nothing, so it gets no sentence.
    """
    difference = _first_difference(ranks)
    if not difference:
        return finding
    sentence, first = difference
    adds_something = first > 0 or not any(line in sentence for line in waits_at)
    says = f"{finding.says} {sentence}" if adds_something else finding.says
    return replace(finding, says=says, step=first if finding.step is None else finding.step)


def _first_difference(ranks: Sequence[RankState]) -> tuple[str, int] | None:
    """A sentence on the first difference between the ranks' calls, and its step; None if unknown.

    Ranks of a pipeline differ from their first call on, which is not a fault. So a difference
    counts only after calls that agreed.
    """
    return _in_collectives(ranks) or _in_passes(ranks)


def _in_collectives(ranks: Sequence[RankState]) -> tuple[str, int] | None:
    by_order = [{call.order: call for call in state.calls if call.order} for state in ranks]
    called = [calls for calls in by_order if calls]
    if not called or (len(called) < len(by_order) and max(map(len, called)) > MAX_EXTRA_CALLS):
        return None
    first, last = max(map(min, called)), max(map(max, called))
    agreed = 0
    for order in range(first, last + 1):
        calls = [mine.get(order) for mine in by_order]
        if len({_key(call) for call in calls}) == 1:
            agreed += 1
            continue
        if not agreed and order > 1:
            return None
        passes = min(call.passes for call in calls if call)
        return _sentence(ranks, passes), step(passes)
    return None


def _key(call: CollectiveCall | None) -> tuple[str, str, int] | None:
    return (call.name, call.where, call.passes) if call else None


def _sentence(ranks: Sequence[RankState], passes: int) -> str:
    """A sentence on what each rank called after the same backward pass."""
    counts = {
        state.rank: Counter(
            (c.name, c.where) for c in state.calls if c.order and c.passes == passes
        )
        for state in ranks
    }
    kinds = sorted({kind for mine in counts.values() for kind in mine})
    differ = [kind for kind in kinds if len({mine[kind] for mine in counts.values()}) > 1]
    name, where = (differ or kinds)[0]
    calls = [
        f"rank {rank} {_called(f'{name} at {where}' if not place else 'it', mine[name, where])}"
        for place, (rank, mine) in enumerate(list(counts.items())[:4])
    ]
    after = f"After backward pass {passes} (step {step(passes)} from 0) t" if passes else "T"
    return f"{after}he ranks' calls differ: {', '.join(calls)}."


def _called(what: str, count: int) -> str:
    if not count:
        return f"never called {what}"
    return f"called {what} {('once', 'twice')[count - 1] if count < 3 else f'{count} times'}"


def _in_passes(ranks: Sequence[RankState]) -> tuple[str, int] | None:
    counts = {state.rank: state.passes for state in ranks}
    fewest, most = min(counts.values()), max(counts.values())
    if fewest == most or not fewest:
        return None
    fewer = [f"rank {rank}" for rank, count in counts.items() if count == fewest]
    more = [f"rank {rank}" for rank, count in counts.items() if count == most]
    return (
        f"{' and '.join(fewer[:4])} made {words.plural(fewest, 'backward pass')}, "
        f"{' and '.join(more[:4])} {most}.",
        step(most),
    )
