"""Where torch cannot follow a script: steps on real tensors, with small batches.

The ranks are still pretended. The size of each storage lies on a line over the size of the
batches, so the peak is found for the script's own, even where it is elsewhere with small ones.
"""

from collections.abc import Callable
from dataclasses import replace

from course.core import words
from course.own.fit import account
from course.own.fit.record import Plain, Record

SMALLEST = 2  # many programs treat a batch of one sample in another way
FRACTION = 16  # the smallest batch, as a part of the script's own
SLIGHT = 0.001  # no more of a peak need be told

INSTEAD = (
    "Avoid this line by an option of the script, or have one GPU take two real steps and print "
    "torch.cuda.max_memory_allocated()."
)

Ask = Callable[[Plain], Plain]  # carries out one request


def instead(request: Plain, failed: Plain, ask: Ask) -> Plain:
    """The answer of real steps to a request that could not be followed; it may fail as well."""
    real = request | {"real": True}
    answer = _of_small_batches(real, failed["batch"], ask) or ask(real)
    if "failed" in answer:
        too = f"On real tensors it fails, too: {answer['failed']}"
        return failed | {"failed": f"{failed['failed']} {too} {INSTEAD}"}
    if "record" in answer:
        answer["account"] = account.add_up(Record.of(answer.pop("record"))).plain()
    note = f"{failed['failed']} So its steps were taken on real tensors, on the CPU."
    return answer | {"notes": [note, *answer["notes"]]}


def _of_small_batches(real: Plain, own: int | None, ask: Ask) -> Plain | None:
    """The answer, extrapolated from three smaller batches; None if they cannot be compared."""
    changes = real.get("changes", {})
    smallest = max(SMALLEST, (own or 0) // FRACTION)
    sizes = [smallest, 2 * smallest, 4 * smallest]
    batch = changes.get("batch", own)
    if not batch or batch <= sizes[-1]:
        return None
    answers: list[Plain] = []
    for size in sizes:  # one after another, because each needs memory
        answer = ask(real | {"changes": changes | {"batch": size}})
        if "batch" not in answer.get("made", []):
            return None
        answers.append(answer)
    records = {
        size: Record.of(answer.pop("record")) for size, answer in zip(sizes, answers, strict=True)
    }
    record = extrapolated(records, sizes[1:], batch)
    tried = extrapolated(records, sizes[:2], sizes[2])
    if record is None or tried is None:
        return None
    peak = account.add_up(records[sizes[2]]).peak
    miss = abs(account.add_up(tried).peak - peak) / peak
    answer = answers[-1]
    answer["account"] = account.add_up(record).plain()
    answer["made"] = [change for change in answer["made"] if change in changes]
    percent = f"{words.significant(100 * miss, 1)} %" if miss > SLIGHT else "less than 0.1 %"
    answer["notes"].append(
        f"The size of each tensor was extrapolated from batches of {sizes[0]}, {sizes[1]} and "
        f"{sizes[2]} to {batch}. From the first two, the peak of the third is missed by {percent}."
    )
    return answer


def extrapolated(records: dict[int, Record], sizes: list[int], size: int) -> Record | None:
    """The record for batches of `size`, on lines through those of two sizes.

    None if the script does not make the same storages with both.
    """
    low, high = (records[known] for known in sizes)
    if len(low.storages) != len(high.storages):
        return None
    before, after = _first_sizes(low), _first_sizes(high)
    distance = (size - sizes[1]) / (sizes[1] - sizes[0])
    factors = {
        number: 1 + distance * (nbytes - before[number]) / nbytes
        for number, nbytes in after.items()
        if nbytes
    }
    events = [(number, round(factors.get(number, 1) * change)) for number, change in high.events]
    return replace(high, events=events)


def _first_sizes(record: Record) -> dict[int, int]:
    """The bytes of each storage when it was made, by its number."""
    return dict(reversed(record.events))
