"""Run the learner's code on several ranks, one after another, in one interpreter.

A rank that must wait is stopped. When it can go on, it runs again from its start, and its earlier
calls get the same answers as before. This needs neither threads nor an interpreter that can switch
between stacks, so it works in every browser. The ranks wait forever exactly when none can go on, so
no time limit is needed.
"""

import builtins
import traceback
from dataclasses import dataclass, field
from types import CodeType

from course.commands.web.ring.distributed import FILE, Distributed, Suspend, Wait
from course.commands.web.ring.tensors import Tensor, torch
from course.commands.web.ring.world import World

ENTRY = "all_reduce"
MAX_PRINTED = 50  # lines of one rank


@dataclass(frozen=True)
class Failure:
    """The error that stopped a rank, and its line in the learner's code, 0 if it is elsewhere."""

    line: int
    words: str


@dataclass
class Replay:
    """The results of a run; each list has an entry for each rank."""

    world: World
    vectors: list[list[float]]  # at the end, or where the rank stopped
    seen: list[dict[int, list[float]]]  # the vectors by the number of rounds that the rank has seen
    printed: list[list[str]]
    waits: dict[int, Wait] = field(default_factory=dict)  # those that wait forever
    failures: dict[int, Failure] = field(default_factory=dict)

    def vector(self, rank: int, round: int) -> list[float]:
        """The vector of a rank after this many rounds."""
        clock = max(clock for clock in self.seen[rank] if clock <= round)
        return self.seen[rank][clock]


def compiled(source: str) -> CodeType | Failure:
    """The learner's code, compiled, or the error in its syntax."""
    try:
        return compile(source, FILE, "exec")
    except (SyntaxError, ValueError) as error:  # ValueError: a null character
        return Failure(getattr(error, "lineno", 0) or 0, f"{type(error).__name__}: {error}")


def run(code: CodeType, vectors: list[list[float]]) -> Replay:
    """Call the learner's function on one rank for each vector."""
    seen = [{0: list(vector)} for vector in vectors]
    result = Replay(
        World(len(vectors)), [list(vector) for vector in vectors], seen, [[] for _ in seen]
    )
    left = set(range(len(vectors)))
    while ready := [rank for rank in sorted(left) if _can_go_on(result, rank)]:
        for rank in ready:
            result.waits.pop(rank, None)
            result.printed[rank] = []
            flat = Tensor(list(vectors[rank]))
            distributed = Distributed(result.world, rank, flat)
            failure = _run_rank(code, distributed, flat, result.printed[rank])
            result.vectors[rank], result.seen[rank] = flat.tolist(), distributed._vectors
            if distributed._waits:
                result.waits[rank] = distributed._waits
                continue
            left.discard(rank)
            if failure:
                result.failures[rank] = failure
    return result


def _can_go_on(run: Replay, rank: int) -> bool:
    """Whether a rank waits for nothing, or for a message that has arrived."""
    return rank not in run.waits or bool(run.waits[rank].post.round)


def _run_rank(
    code: CodeType, distributed: Distributed, flat: Tensor, printed: list[str]
) -> Failure | None:
    """Run a rank up to its end or to where it must wait; return the error that stopped it."""
    try:
        names = {"__name__": "ring", "__builtins__": _builtins(distributed, printed)}
        exec(code, names)
        if not callable(names.get(ENTRY)):
            return Failure(0, f"There is no function {ENTRY}(flat) to call.")
        names[ENTRY](flat)
        distributed._record()
    except Suspend:
        pass
    except BaseException as error:  # even SystemExit ends only a rank, not the page
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == FILE]
        words = "".join(traceback.format_exception_only(error)).strip()
        return Failure(lines[-1] if lines else 0, words)
    return None


def _builtins(distributed: Distributed, printed: list[str]) -> dict[str, object]:
    """Python's own names, with an `import torch` that gives this page's torch."""
    ours = torch(distributed)

    def import_module(name: str, of=None, here=None, names=(), level: int = 0) -> object:
        if name == "torch.distributed":
            return distributed if names else ours
        if name == "torch":
            return ours
        if name.startswith("torch."):
            raise ImportError(f"{name} is not on this page")
        return builtins.__import__(name, of, here, names, level)

    def write(*values: object, sep: str = " ", **_: object) -> None:
        if len(printed) < MAX_PRINTED:
            printed.append(sep.join(map(str, values)))

    return {**vars(builtins), "__import__": import_module, "print": write}
