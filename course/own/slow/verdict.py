"""All that can be said of a run: the causes, what is fine, and what the evidence cannot decide."""

from dataclasses import dataclass, field, replace
from statistics import mean

from course.core import CourseError, words
from course.own.slow import budget, of_messages, of_setup, of_work
from course.own.slow.budget import FEWEST, Budget
from course.own.slow.cause import Cause
from course.own.watch.timeline import Rank

MATTERS = 0.15  # of a step, for the first cause; less is "computing"
NEAR = 1.5  # times as large, or two causes cannot be told apart by size
SHOWN = 0.05  # ... for what else is seen
FACTS = ("not sharded", "threads")  # true whatever the rest takes, and what changes the rest
SEARCH = "unused parameters"  # part of it lies inside backward, where it cannot be seen
STARVED = 0.4  # of a step is left without waiting for a core
BUSY = 0.2  # of the cores, that other programs had
NEARLY_ALL = 0.8  # of a step is computing, or other things take some of it


@dataclass
class Verdict:
    """What was found. The first of `causes` is the one to cure first."""

    causes: list[Cause]
    budget: Budget
    blind: str = ""  # why what the GPUs do is not known, so that only facts are judged
    unrecorded_s: float = 0.0  # on GPUs, how long a step takes while torch.profiler is not at work
    undecided: list[str] = field(default_factory=list)
    elsewhere: float = 0.0  # the share of all cores that other programs kept busy

    @property
    def first(self) -> Cause | None:
        """The cause to cure first; None where the evidence decides nothing."""
        return self.causes[0] if self.causes else None


def of(ranks: list[Rank]) -> Verdict:
    """The verdict on what the ranks have told; raises `CourseError` where they told too little."""
    ranks = sorted(ranks, key=lambda rank: rank.rank)
    _demand(ranks)
    whole = budget.of(ranks)
    facts = list(of_setup.causes(whole))
    on_gpus = any(rank.device == "cuda" for rank in ranks)
    blind = next((rank.blind for rank in ranks if on_gpus and not rank.on_gpu), "")
    if blind:
        open_ = _undecided(whole, facts, blind)
        return Verdict(facts, whole, blind, undecided=open_, elsewhere=_elsewhere(ranks))
    unrecorded_s = 0.0
    if on_gpus:
        unrecorded_s = whole.step_s
        whole = budget.of([replace(rank, steps=rank.on_gpu) for rank in ranks])
    found = [*of_work.causes(whole), *of_messages.causes(whole), *facts]
    searched = [cause for cause in found if cause.cause == SEARCH]
    found = [cause for cause in found if cause.share >= SHOWN or cause in searched]
    found.sort(key=lambda cause: cause.share, reverse=True)
    first = [cause for cause in found if cause.cause in FACTS and cause.share >= MATTERS]
    rest = [cause for cause in found if cause not in first]
    # A setting that nobody needs comes before "nothing is wrong", however little is seen of it,
    # and before what may take as long: what is seen is the least.
    least = max([MATTERS, *(NEAR * cause.share for cause in searched)])
    if not first and not (rest and rest[0].share >= least):
        first = searched or [_computing(whole)]
        rest = [cause for cause in rest if cause not in first]
    causes = [*first, *rest]
    open_ = _undecided(whole, causes)
    return Verdict(causes, whole, "", unrecorded_s, open_, _elsewhere(ranks))


def _demand(ranks: list[Rank]) -> None:
    if not ranks:
        raise CourseError("No rank came to its end, so nothing was seen of any step.")
    first = ranks[0]
    if first.world < 2:
        raise CourseError(
            "This was one process: `why` asks why several ranks are slow. "
            "Start at least two, with torchrun --nproc-per-node 2."
        )
    if not all(rank.backend for rank in ranks):
        raise CourseError(
            "The script never called torch.distributed.init_process_group: "
            "its ranks know nothing of one another, and `why` watches torch.distributed alone."
        )
    fewest = min(len(rank.steps) for rank in ranks)
    if fewest < FEWEST:
        least = min(ranks, key=lambda rank: rank.seen)
        seen = words.plural(least.seen, "training step")
        raise CourseError(
            f"Only {seen} of rank {least.rank} were seen, of which the first five are a warm-up: "
            "let the script take more, ten at the least. A step ends with the step of a torch "
            "optimizer, or with the next batch of a DataLoader."
        )


def _computing(whole: Budget) -> Cause:
    work = sum(whole.mean_own(kind) for kind in ("forward", "backward", "gradients", "optimizer"))
    return Cause("computing", min(1.0, work / whole.net_s))


def _elsewhere(ranks: list[Rank]) -> float:
    """Which share of the machine other programs had while the ranks were watched."""
    ours = sum(rank.cpu_s for rank in ranks)
    longest = max(rank.watched_s for rank in ranks)
    busy = max(rank.busy_s for rank in ranks)
    return max(0.0, busy - ours) / (longest * ranks[0].cores) if longest else 0.0


def _undecided(whole: Budget, causes: list[Cause], blind: str = "") -> list[str]:
    """What remains open, and what it would need."""
    if blind:
        return [
            f"where the time of a step goes. The ranks compute on GPUs, and {blind}. What was seen "
            "is the Python that feeds the GPUs; it runs ahead of them, so its times tell nothing. "
            "Lab 03b records a GPU itself."
        ]
    found = []
    launching = whole.mean_own("launching") / whole.net_s
    if launching >= MATTERS:
        found.append(
            "how long the GPUs really wait for the Python that launches their work: "
            f"{100 * launching:.0f} % of a step while torch.profiler, which makes it slower, was "
            "at work. Larger batches, torch.compile or CUDA graphs need fewer launches: try one."
        )
    pairs = mean(share.waits["messages"] for step in whole.steps for share in step)
    share = pairs / (whole.net_s + pairs)
    if share >= MATTERS:
        found.append(
            f"who is late where ranks send to one another (send, recv; {100 * share:.0f} % of a "
            "step): such messages do not tell. Look at a trace of all ranks (lab 03b)."
        )
    if whole.net_s < STARVED * whole.step_s:
        found.append(
            "what a free machine would show: for most of a step ranks waited for a core, and how "
            "much of the messages' time was such waiting can only be estimated."
        )
    if any(ddp["finds_unused"] for ddp in whole.ranks[0].ddp):
        found.append(
            "how much the search for unused parameters takes in all: a part of it is inside the "
            "backward pass. Run once without find_unused_parameters=True and compare."
        )
    by_size = causes[0].cause not in (*FACTS, SEARCH)
    if by_size and len(causes) > 1 and causes[0].share < NEAR * causes[1].share:
        found.append(
            f"which of {causes[0].cause} and {causes[1].cause} is the larger: they are too near "
            "each other. Cure one and ask again."
        )
    if any(rank.world > rank.local for rank in whole.ranks):
        found.append("what the ranks of other machines do: only those of this one were watched.")
    return found
