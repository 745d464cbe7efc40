"""Where torch cannot follow a script: steps on real tensors, with small batches and few layers.

The ranks are still pretended. The size of each storage lies on a line over the batch size, so it is
known for the script's own batches. The peak is then found among these sizes, even if it comes at
another place than with small batches. If there is too little memory for that, the model keeps
fewer of its equal layers.
"""

from collections.abc import Callable
from dataclasses import asdict, replace

from course.core import from_plain, words
from course.diagnostics.fit import layers
from course.diagnostics.fit.account import Account, add_up
from course.diagnostics.fit.record import Plain, Record

SMALLEST = 2  # many programs treat a batch of one sample differently
FRACTION = 16  # the smallest batch is the script's own divided by this; so are the fewest layers
SLIGHT = 0.001  # a smaller error, as a fraction of a peak, is not given as a number

INSTEAD = (
    "Avoid this line by an option of the script, or have one GPU take two real steps and print "
    "torch.cuda.max_memory_allocated()."
)

Ask = Callable[[Plain], Plain]  # carries out one request


def answer_by_real_steps(request: Plain, failed: Plain, ask: Ask) -> Plain:
    """Answer a request whose rehearsal failed by taking real steps, which may fail as well."""
    real = request | {"real": True}
    answer = _with_record(real, failed["batch"], ask)
    if answer.get("lacks_memory") and failed["layers"]:
        answer = _with_fewer_layers(real, failed, ask)
    elif "record" in answer:
        answer["account"] = add_up(answer.pop("record"))
    if "failed" in answer:
        if answer.get("error") == failed["error"]:
            return answer
        too = f"On real tensors it fails, too: {answer['failed']}"
        return failed | {"failed": f"{failed['failed']} {too} {INSTEAD}"}
    changes = request.get("changes", {})
    note = f"{failed['failed']} So its steps were taken on real tensors, on the CPU."
    return answer | {
        "account": asdict(answer["account"]),
        "applied_changes": [change for change in answer["applied_changes"] if change in changes],
        "notes": [note, *answer["notes"]],
    }


def _with_record(real: Plain, own: int | None, ask: Ask) -> Plain:
    """Answer a request on real tensors with a `Record`, which is extrapolated if batches allow."""
    answer = _of_small_batches(real, own, ask)
    if answer is None:
        answer = ask(real)
        if "record" in answer:
            answer["record"] = from_plain(Record, answer["record"])
    return answer


def _of_small_batches(real: Plain, own: int | None, ask: Ask) -> Plain | None:
    """Extrapolate the answer from three smaller batches; None if they cannot be compared."""
    changes = real.get("changes", {})
    batch = changes.get("batch", own)
    sizes = _sizes(own)
    if not batch or batch <= sizes[-1]:
        return None
    answers: list[Plain] = []
    for size in sizes:  # one after another, because each needs memory
        answer = ask(real | {"changes": changes | {"batch": size}})
        if answer.get("lacks_memory"):
            return answer
        if "batch" not in answer.get("applied_changes", []):
            return None
        answers.append(answer)
    records = {
        size: from_plain(Record, answer.pop("record"))
        for size, answer in zip(sizes, answers, strict=True)
    }
    record = extrapolate(records, sizes[1:], batch)
    predicted = extrapolate(records, sizes[:2], sizes[2])
    if record is None or predicted is None:
        return None
    answer = answers[-1]
    answer["record"] = record
    error = _relative_error(add_up(predicted), add_up(records[sizes[2]]))
    answer["notes"].append(
        f"The size of each tensor was extrapolated from batches of {_three(sizes)} to "
        f"{batch}. From the first two, the peak of the third is missed by {error}."
    )
    return answer


def _with_fewer_layers(real: Plain, failed: Plain, ask: Ask) -> Plain:
    """Extrapolate the answer, with its account, from three smaller numbers of layers."""
    layer, count = failed["layers"]
    sizes = _sizes(count)
    runs: dict[int, layers.Counted] = {}
    answer: Plain = {}
    for size in sizes:
        changes = real.get("changes", {}) | {"layers": [layer, size]}
        answer = _with_record(real | {"changes": changes}, failed["batch"], ask)
        if "failed" in answer:
            return answer
        record = answer.pop("record")
        runs[size] = record, add_up(record)
    account = layers.extrapolate(runs, sizes[1:], count)
    predicted = layers.extrapolate(runs, sizes[:2], sizes[2])
    if account is None or predicted is None:
        lacks = f"There is not enough memory here for {count} layers"
        return {"failed": f"{lacks}, and with fewer layers the script behaves differently."}
    error = _relative_error(predicted, runs[sizes[2]][1])
    answer["account"] = account
    answer["notes"].append(
        f"There is not enough memory here for {count} layers ({layer}), so {_three(sizes)} "
        f"were tried. From the first two, the peak of the third is missed by {error}."
    )
    return answer


def _sizes(own: int | None) -> list[int]:
    smallest = max(SMALLEST, (own or 0) // FRACTION)
    return [smallest, 2 * smallest, 4 * smallest]


def _three(sizes: list[int]) -> str:
    return "{}, {} and {}".format(*sizes)


def _relative_error(predicted: Account, counted: Account) -> str:
    miss = abs(predicted.peak - counted.peak) / counted.peak
    return f"{words.significant(100 * miss, 1)} %" if miss > SLIGHT else "less than 0.1 %"


def extrapolate(records: dict[int, Record], sizes: list[int], size: int) -> Record | None:
    """The record for batches of `size`, by lines through the records of two sizes.

    None if the script does not make equally many storages with both.
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
