"""A process that imports torch once, and forks for each rehearsal.

It is started as `python -m course.diagnostics.fit.rehearsal SCRIPT`; a module needs no SCRIPT. Each
line of its input is a list of requests as JSON. Each line of its output is a list of answers in the
same order: an account, or the reason why there is none.
"""

import json
import os
import resource
import runpy
import sys
import tempfile
import traceback
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import torch
from torch import Tensor

from course.diagnostics.fit import account, libraries, rank, small, values
from course.diagnostics.fit.changes import Changes
from course.diagnostics.fit.ledger import Args, Kwargs, Ledger
from course.diagnostics.fit.phases import PhaseHooks, StopScript
from course.diagnostics.fit.record import Plain
from course.diagnostics.fit.torch_insides import DynamicOutputShapeException
from course.diagnostics.watch.lines import Lines
from course.hardware import quotas
from course.launch import process_tree

NO_MEMORY = "can't allocate memory"  # in the error of torch's allocator for CPUs
SHARE = 0.75  # of the free memory that real tensors may take


def main(script: str = "") -> None:
    """Answer lists of requests until there are no more; `script` is "" for a module."""
    if script:
        libraries.load(script)
    rehearsals = Rehearsals()
    for line in sys.stdin:
        print(json.dumps(rehearsals.answers(json.loads(line))), flush=True)


class Rehearsals:
    """Answers requests for one script, on real tensors where it fails on those without memory."""

    def __init__(self) -> None:
        self._works: dict[str, bool] = {}  # on real tensors, by the line that failed without

    def answers(self, requests: list[Plain]) -> list[Plain]:
        """Answer each request; those that failed, one after another on real tensors.

        A changed script is tried on them only if the script itself fails at the same line, and only
        on tensors without memory.
        """
        pairs = zip(requests, _forked(requests), strict=True)
        return [self._checked(request, answer) for request, answer in pairs]

    def _checked(self, request: Plain, answer: Plain) -> Plain:
        line, _ = answer.get("error") or (None, "")
        if line is None or not self._works.get(line, not request.get("changes")):
            return answer
        answer = small.answer_by_real_steps(request, answer, _answer_alone)
        self._works.setdefault(line, "failed" not in answer)
        return answer


def _answer_alone(request: Plain) -> Plain:
    (answer,) = _forked([request])
    return answer


def _forked(requests: list[Plain]) -> list[Plain]:
    """Answer each request in a forked process, as many at once as there are cores."""
    forks = []
    running: dict[int, _Fork] = {}
    for request in requests:
        if len(running) == (os.cpu_count() or 1):
            _wait_for_one(running)
        forks.append(_Fork(request))
        running[forks[-1].child] = forks[-1]
    while running:
        _wait_for_one(running)
    return [fork.answer for fork in forks]


class _Fork:
    """A forked process for one request, which writes its answer to a file."""

    def __init__(self, request: Plain) -> None:
        self._answer = tempfile.TemporaryFile("w+")  # noqa: SIM115  # `end` closes both
        self._output = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.answer: Plain = {}
        self.child = os.fork()
        if not self.child:
            process_tree.end_with_parent()
            os.dup2(self._output.fileno(), 1)
            os.dup2(self._output.fileno(), 2)
            json.dump(rehearse(request), self._answer)
            self._answer.flush()
            os._exit(0)

    def end(self, status: int) -> None:
        """Read the answer of the process after it has ended."""
        with self._answer, self._output:
            self._answer.seek(0)
            text = self._answer.read()
            self._output.seek(0)
            tail = self._output.read()[-2000:]
        code = os.waitstatus_to_exitcode(status)
        no_answer = {"failed": f"The rehearsal ended with exit code {code}."}
        self.answer = json.loads(text) if text else no_answer
        if "failed" in self.answer:
            self.answer["output"] = tail


def _wait_for_one(running: dict[int, _Fork]) -> None:
    """Wait until one of the processes ends, and read its answer."""
    child, status = os.wait()
    running.pop(child).end(status)


def rehearse(request: Plain, ranks_are_real: bool = False) -> Plain:
    """Run a script for some steps in this process; return its account, or why there is none.

    If the request asks for real tensors, return the ledger's record in place of an account. With
    `ranks_are_real`, tensors and the other ranks are real, and the answer is an account.
    """
    script, words = request["script"], request["words"]
    is_real = request.get("real", ranks_are_real)
    lines = Lines(script)
    made_up = values.Values(lines)
    ledger = Ledger(lines, _run_for_real if is_real else made_up.run)
    hooks = PhaseHooks(ledger)
    if is_real:
        _limit_memory()
    else:
        made_up.install()
    if not ranks_are_real:
        rank.install(request["ranks"], ledger)
    hooks.install()
    changes = Changes(request.get("changes", {}))
    changes.install()
    error: BaseException | None = None
    sys.argv = [script, *words]
    if not request.get("module"):
        sys.path.insert(0, str(Path(script).resolve().parent))
    run = runpy.run_module if request.get("module") else runpy.run_path
    try:
        with ExitStack() as stack:
            if not is_real:
                stack.enter_context(values.mode())
            stack.enter_context(ledger)
            run(script, run_name="__main__")
    except StopScript:
        pass
    except (Exception, SystemExit) as raised:
        ends_well = isinstance(raised, SystemExit) and not raised.code
        error = None if ends_well or hooks.has_taken_steps else raised
        traceback.print_exc()
    where = (_line(error, lines), _reason(error)) if error else None
    failed = _sentence(*where, is_real) if where else _why_no_training(hooks)
    if failed:
        return {
            "failed": failed,
            "error": where,
            "lacks_memory": error is not None and _lacks_memory(error),
            "batch": changes.batch_size,
            "layers": changes.layers(),
        }
    if request.get("real"):
        counted = {"record": asdict(ledger.record)}
    else:
        counted = {"account": asdict(account.add_up(ledger.record))}
    return {
        **counted,
        "assumed": list(made_up.assumed),
        "notes": list(hooks.notes),
        "applied_changes": sorted(changes.applied),
        "batch": changes.batch_size,
    }


def _run_for_real(function: Any, given: list[Tensor], args: Args, kwargs: Kwargs) -> Any:
    return function(*args, **kwargs)


def _limit_memory() -> None:
    """Let a script that wants too much memory fail before the whole machine runs out of it."""
    _, free = quotas.memory(Path("/"))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = psutil.Process().memory_info().vms + int(SHARE * free)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _why_no_training(hooks: PhaseHooks) -> str:
    if not hooks.most_steps:
        return "The script ends without a step of an optimizer of torch."
    if not hooks.has_gradients:
        return "The script trains nothing: no parameter has a gradient when its optimizer steps."
    return ""


def _sentence(line: str, reason: str, is_real: bool) -> str:
    begin = "The script fails" if is_real else "The rehearsal cannot follow the script"
    return f"{begin}{line and f' at {line}'}: {reason}."


def _line(error: BaseException, lines: Lines) -> str:
    """The innermost line of the script in the traceback of an error; "" if there is none."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return next(filter(None, (lines.of(frame) for frame in reversed(frames))), "")


def _reason(error: BaseException) -> str:
    """Why a script ended before it had taken its steps, in words."""
    text = " ".join(str(error).split())[:200].rstrip(".")
    if isinstance(error, SystemExit):
        return f"it ends itself with exit code {text}"
    if isinstance(error, DynamicOutputShapeException):
        return f"the shape of what {text} returns depends on data"
    if _lacks_memory(error):
        return "it needs more memory than is free here"
    return f"{type(error).__name__}: {text}"


def _lacks_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or NO_MEMORY in str(error)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(*sys.argv[1:])
