"""The answer of `fit` in words."""

from course.core import words
from course.diagnostics.answers.paragraph import paragraph
from course.diagnostics.fit import overhead
from course.diagnostics.fit.client import Rehearsal
from course.diagnostics.fit.record import KINDS
from course.diagnostics.fit.result import FitResult, RehearsedRun

COUNTED = {
    "weights": "counted; the model's own buffers among them",
    "gradients": "counted",
    "optimizer": "counted; what the optimizer itself has made",
    "activations": "counted; all that forward and backward have made",
    "buffers": "counted; the buckets of DDP, whole weights and messages of FSDP",
    "other": "counted; batches, and what the script makes outside its passes",
}
LOST = "worked out by the rules of torch's allocator, at most 1 % of the peak too much"
TINY = 0.01  # tensors that take less than this fraction of the memory are not what decides
HOST = "counted; weights, gradients and optimizer there, at their most"


def text(answer: FitResult) -> str:
    """The whole answer: the table, and a paragraph for each sentence."""
    lines = [*map(_verdict, answer.runs), *_tiny(answer), "", *_table(answer)]
    sentences = [*_advice(answer), *_costs(answer), *_caveats(answer)]
    return "\n".join([*lines, *map(paragraph, sentences)])


def gib(nbytes: float) -> str:
    """A size in words, to the hundredth of a GiB."""
    return f"{nbytes / words.GIB:,.2f} GiB"


def gpu_size(nbytes: int) -> str:
    """The size of a GPU in words: '24 GiB', '1.5 GiB'."""
    return f"{words.significant(nbytes / words.GIB)} GiB"


def _verdict(run: RehearsedRun) -> str:
    size = gpu_size(run.memory)
    gpus = words.plural(run.rehearsal.ranks, "GPU")
    room = abs(run.memory - run.peak)
    if run.fits:
        return f"fits          {gpus} of {size}: {gib(run.peak)} each, room left {gib(room)}"
    return f"does not fit  {gpus} of {size}: {gib(run.peak)} each, missing {gib(room)}"


def _tiny(answer: FitResult) -> list[str]:
    """A line that says so if tensors take hardly any of the memory."""
    if any(run.rehearsal.account.reserved >= TINY * run.peak for run in answer.runs):
        return []
    return ["Tensors take less than 1 % of it. The rest is what CUDA and its libraries need."]


def _table(answer: FitResult) -> list[str]:
    """The bytes by kind at the peak, for each number of GPUs, and where each comes from."""
    rehearsals = answer.rehearsals
    is_small = max(rehearsal.account.peak for rehearsal in rehearsals) < words.GIB
    unit = ("MiB", words.MIB) if is_small else ("GiB", words.GIB)
    heads = [words.plural(rehearsal.ranks, "GPU") for rehearsal in rehearsals]
    lines = [_row(f"{unit[0]} at the peak", heads)]
    for kind in KINDS:
        sizes = [_in_unit(unit[1], rehearsal.account.by[kind]) for rehearsal in rehearsals]
        lines.append(_row(kind, sizes, COUNTED[kind]))
    losses = [rehearsal.account.reserved - rehearsal.account.peak for rehearsal in rehearsals]
    lines.append(_row("lost between tensors", [_in_unit(unit[1], loss) for loss in losses], LOST))
    for part in overhead.parts(max(rehearsal.ranks for rehearsal in rehearsals)):
        has_it = [part in overhead.parts(rehearsal.ranks) for rehearsal in rehearsals]
        sizes = [_in_unit(unit[1], part.nbytes * has) for has in has_it]
        lines.append(_row(part.name, sizes, part.source))
    if any(rehearsal.account.host for rehearsal in rehearsals):
        sizes = [_in_unit(unit[1], rehearsal.account.host) for rehearsal in rehearsals]
        lines.append(_row("on the host, per GPU", sizes, HOST))
    for rehearsal in rehearsals:
        account = rehearsal.account
        lines.append(
            f"The peak with {words.plural(rehearsal.ranks, 'GPU')}: step {account.step}, "
            f"{account.phase}, {account.at or 'not in a line of the script'}."
        )
    return lines


def _row(name: str, sizes: list[str], source: str = "") -> str:
    return f"{name:24}{''.join(f'{size:>11}' for size in sizes)}  {source}".rstrip()


def _in_unit(unit: int, nbytes: int) -> str:
    """A size in a unit: '0' for nothing, and never '0.00' for something."""
    number = f"{nbytes / unit:,.2f}"
    return "0" if not nbytes else "< 0.01" if number == "0.00" else number


def _advice(answer: FitResult) -> list[str]:
    lines = []
    if answer.target:
        size = gpu_size(answer.target.memory)
        gpus = words.plural(answer.target.rehearsal.ranks, "GPU")
        lines.append(f"What was tried for {gpus} of {size}, the cheapest first:")
        for advice in answer.advice:
            verdict = "fits" if advice.peak <= answer.target.memory else "does not fit"
            lines.append(f"  {verdict}: {advice.do}, {gib(advice.peak)} each.")
        if not answer.advice:
            lines.append("  nothing: no known change applies to this script.")
    if answer.largest:
        batch, run = answer.largest
        lines.append(
            f"The largest batch that fits on {words.plural(run.rehearsal.ranks, 'GPU')} of "
            f"{gpu_size(run.memory)}: {batch} per GPU, {gib(run.peak)} each."
        )
    return lines


def _costs(answer: FitResult) -> list[str]:
    """Sentences on the messages of a step, and on how long it may take with them."""
    lines = []
    for rehearsal in answer.rehearsals:
        traffic, gpus = rehearsal.account.traffic, words.plural(rehearsal.ranks, "GPU")
        if rehearsal.ranks == 1 or not traffic.messages:
            continue
        line = (
            f"A step with {gpus}: {words.plural(round(traffic.messages), 'collective')}, for which "
            f"each GPU sends {words.size(traffic.nbytes, 3)}."
        )
        if answer.one_gpu_s:
            alone = words.duration(answer.one_gpu_s)
            line += (
                f" An estimate, if it takes {alone} on one GPU with a batch "
                f"as large as each has here: {_times(rehearsal, answer.one_gpu_s)}."
            )
        lines.append(line)
    return lines


def _times(rehearsal: Rehearsal, alone: float) -> str:
    from course.diagnostics.fit import costs  # slow to import

    return "; ".join(
        f"{words.duration(alone)} to {words.duration(forecast.longest)} over {forecast.link} as in "
        f"{forecast.machine} ({forecast.by})"
        for forecast in costs.forecasts(rehearsal, alone)
    )


def _caveats(answer: FitResult) -> list[str]:
    """Sentences on what the answer assumes, and on what it leaves out."""
    lines = list(answer.notes)
    if answer.assumed:
        lines.append(
            f"Assumed: the script reads tensor values at {', '.join(answer.assumed)}; a rehearsal "
            "has none and used plausible ones. Selections that depend on values were taken to "
            "select everything."
        )
    if not answer.rehearsals[0].account.uses_gpu:
        lines.append("The script puts nothing on a GPU, so all its tensors are counted.")
    lines.append("Not counted: what kernels take for a moment.")
    return lines
