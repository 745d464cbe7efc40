"""The answer of `fit` in words."""

from course.core import words
from course.own.fit import overhead
from course.own.fit.record import KINDS
from course.own.fit.result import Result, Run
from course.own.say.paragraph import paragraph

COUNTED = {
    "weights": "counted; the model's own buffers among them",
    "gradients": "counted",
    "optimizer": "counted; what the optimizer itself has made",
    "activations": "counted; all that forward and backward have made",
    "buffers": "counted; the buckets of DDP, whole weights and messages of FSDP",
    "other": "counted; batches, and what the script makes outside of its passes",
}


def text(answer: Result) -> str:
    """Return the whole answer: the table, and a paragraph for each sentence."""
    lines = [*map(_verdict, answer.runs), "", *_table(answer)]
    sentences = [*_advice(answer), *_doubts(answer)]
    return "\n".join([*lines, *map(paragraph, sentences)])


def gib(nbytes: float) -> str:
    """A size to the hundredth of a GiB, or of a MiB if it is small."""
    if 0 < nbytes < words.GIB / 10:
        return f"{nbytes / words.MIB:,.2f} MiB"
    return f"{nbytes / words.GIB:,.2f} GiB"


def card(nbytes: int) -> str:
    """The size of a card: '24 GiB', '1.5 GiB'."""
    return f"{words.significant(nbytes / words.GIB)} GiB"


def _verdict(run: Run) -> str:
    size = card(run.memory)
    gpus = words.plural(run.rehearsal.ranks, "GPU")
    room = abs(run.memory - run.peak)
    if run.fits:
        return f"fits          {gpus} of {size}: {gib(run.peak)} each, room left {gib(room)}"
    return f"does not fit  {gpus} of {size}: {gib(run.peak)} each, missing {gib(room)}"


def _table(answer: Result) -> list[str]:
    """The bytes by kind at the peak, for each number of GPUs, and where each comes from."""
    found = answer.rehearsals
    head = "".join(f"{words.plural(each.ranks, 'GPU'):>13}" for each in found)
    lines = [f"{'at the peak':24}{head}"]
    for kind in KINDS:
        sizes = "".join(f"{gib(each.account.by[kind]):>13}" for each in found)
        lines.append(f"{kind:24}{sizes}  {COUNTED[kind]}")
    for part in overhead.parts(max(each.ranks for each in found)):
        sizes = "".join(
            f"{gib(part.nbytes if part in overhead.parts(each.ranks) else 0):>13}" for each in found
        )
        lines.append(f"{part.name:24}{sizes}  from documents, not measured")
    for each in found:
        account = each.account
        lines.append(
            f"The peak with {words.plural(each.ranks, 'GPU')}: step {account.step}, "
            f"{account.moment}, {account.at or 'not in a line of the script'}."
        )
    return lines


def _advice(answer: Result) -> list[str]:
    lines = []
    if answer.target:
        size = card(answer.target.memory)
        gpus = words.plural(answer.target.rehearsal.ranks, "GPU")
        lines.append(f"What was tried for {gpus} of {size}, the cheapest first:")
        for each in answer.advice:
            verdict = "fits" if each.peak <= answer.target.memory else "does not fit"
            lines.append(f"  {verdict}: {each.do}, {gib(each.peak)} each.")
        if not answer.advice:
            lines.append("  nothing: no change that is known here suits this script.")
    if answer.largest:
        batch, run = answer.largest
        lines.append(
            f"The largest batch that fits on {words.plural(run.rehearsal.ranks, 'GPU')} of "
            f"{card(run.memory)}: {batch} per GPU, {gib(run.peak)} each."
        )
    return lines


def _doubts(answer: Result) -> list[str]:
    """What the answer rests on, and what it leaves out."""
    lines = list(answer.notes)
    if answer.assumed:
        lines.append(
            f"Assumed: the script asks for values at {', '.join(answer.assumed)}; a rehearsal has "
            "none, so plausible ones were given; what is selected by values is taken to be all."
        )
    if not answer.rehearsals[0].account.uses_gpu:
        lines.append("The script puts nothing on a GPU, so all its tensors are counted.")
    lines.append(
        "Not counted: what the allocator loses between tensors, and what kernels take for a moment."
    )
    return lines
