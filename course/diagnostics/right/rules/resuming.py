"""Rules on resuming: all ranks load the same weights, optimizer state and epoch."""

from course.core import words
from course.diagnostics.finding import Finding
from course.diagnostics.numerics.training import LoadedFile, LoaderPass
from course.diagnostics.right import causes, table
from course.diagnostics.right.evidence import Evidence, odd_rank
from course.diagnostics.right.optimizer_on_ranks import OptimizerOnRanks
from course.diagnostics.right.table import EQUAL, NOT_SEEN, Result, Row, Rule, first_of


def resume(evidence: Evidence) -> Result:
    """Do all ranks resume from the same state, and from all of it?"""
    if not evidence.is_tied:
        return [Row(table.RESUME, NOT_SEEN, evidence.why_untied)]
    judges = (_some_ranks, _other_steps, _no_state, _first_epoch)
    if found := first_of(table.RESUME, judges, evidence):
        return found
    restored = [o.restored for optimizer in evidence.optimizers for o in optimizer.on_rank]
    if all(restored) and restored:
        return [Row(table.RESUME, EQUAL, f"all ranks load the optimizer's state at {restored[0]}")]
    if any(restored):
        says = "not every optimizer of every rank loads a state before its steps"
        return [Row(table.RESUME, NOT_SEEN, says)]
    if lines := [line for report in evidence.reports for line in report.restored_at]:
        says = f"the steps watched begin without the state that is loaded at {lines[0]}"
        return [Row(table.RESUME, NOT_SEEN, says)]
    if any(report.loads for report in evidence.reports):
        says = "a file was loaded, and no state of an optimizer from it"
        return [Row(table.RESUME, NOT_SEEN, says)]
    says = "torch.load and load_state_dict of optimizers not called"
    return [Row(table.RESUME, NOT_SEEN, says)]


def _some_ranks(evidence: Evidence) -> Finding | None:
    """Find that only some ranks load the optimizer's state, and that weights then diverge."""
    for optimizer in evidence.optimizers:
        lines = [report.restored for report in optimizer.on_rank]
        if all(lines) or not any(lines) or evidence.is_sharded or not _diverges(optimizer):
            continue
        ranks = [rank for rank, line in zip(evidence.ranks, lines, strict=True) if line]
        others = [rank for rank in evidence.ranks if rank not in ranks]
        where = next(filter(None, lines))
        return causes.RESUME.finding(
            f"The optimizer's state is loaded on {words.ranks(ranks)} (at {where}), and "
            f"{words.ranks(others)} begin{'s' if len(others) == 1 else ''} without: DDP sends "
            "weights, and no state of an optimizer, so equal gradients make different weights.",
            "Load the checkpoint on all ranks.",
            rank=odd_rank([bool(line) for line in lines], evidence.ranks),
            step=1,
            where=where,
        )
    return None


def _diverges(optimizer: OptimizerOnRanks) -> bool:
    """Whether weights that are equal before the first step differ after it."""
    return optimizer.starts_equal and len({tuple(step.after) for step in optimizer.steps[0]}) > 1


def _other_steps(evidence: Evidence) -> Finding | None:
    """Find that the ranks load an optimizer's state from files of different steps."""
    if not all(
        report.restored for optimizer in evidence.optimizers for report in optimizer.on_rank
    ):
        return None
    loads = [_checkpoints(report.loads) for report in evidence.reports]
    for files in zip(*loads, strict=False) if len(set(map(len, loads))) == 1 else ():
        for key in files[0].numbers:
            values = [load.numbers.get(key) for load in files]
            if None in values or len(set(values)) == 1:
                continue
            return causes.RESUME.finding(
                f"The ranks go on from different checkpoints: the {key} is not the same "
                f"({evidence.by_rank(values)}).",
                "Let rank 0 choose the checkpoint and broadcast its name, or its content.",
                rank=odd_rank(values, evidence.ranks),
                step=1,
                where=files[0].line,
            )
    return None


def _checkpoints(loads: list[LoadedFile]) -> list[LoadedFile]:
    """The files with an optimizer's state that were read before the first backward pass."""
    return [load for load in loads if load.optimizer and not load.passes_so_far]


def _no_state(evidence: Evidence) -> Finding | None:
    """Find that no optimizer loads the state that the script saves and reads again."""
    if any(report.restored_at for report in evidence.reports):
        return None
    for load in evidence.reports[0].loads:
        saves = any(
            other.path == load.path and other.saves for r in evidence.reports for other in r.loads
        )
        if load.optimizer and saves and not load.passes_so_far:
            return causes.RESUME.finding(
                f"The checkpoint that is loaded at {load.line} has an optimizer's state, as those "
                "that the script saves, and no optimizer loads it: momentum, and what Adam has "
                "learned of each weight, begin again at zero.",
                "Call optimizer.load_state_dict with it, too.",
                step=1,
                where=load.line,
            )
    return None


def _first_epoch(evidence: Evidence) -> Finding | None:
    """Find that the optimizer continues from a later epoch, but the sampler begins with epoch 0."""
    if not evidence.optimizers or not all(
        optimizer.on_rank[0].restored for optimizer in evidence.optimizers
    ):
        return None
    mine = [loader_pass for loader_pass in evidence.training_passes(0) if _shuffles(loader_pass)]
    loads = _checkpoints(evidence.reports[0].loads)
    epochs = [load.numbers.get("epoch", 0) for load in loads]
    if not mine or not epochs or epochs[-1] < 2 or mine[0].epoch != 0:
        return None
    return causes.RESUME.finding(
        f"The checkpoint is of epoch {epochs[-1]}, and the sampler begins with the order of epoch "
        "0: the training sees the samples in the order that it has had already.",
        "Call sampler.set_epoch with the number of the epoch that the checkpoint goes on with.",
        step=1,
        where=mine[0].opened_at,
    )


def _shuffles(loader_pass: LoaderPass) -> bool:
    return loader_pass.kind == "DistributedSampler" and loader_pass.shuffles


RULES: tuple[Rule, ...] = (resume,)
