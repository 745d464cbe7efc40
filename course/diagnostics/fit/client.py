"""The client of `rehearsal.py`, the process in which scripts are rehearsed."""

import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from course.core import ROOT, CourseError, from_plain
from course.diagnostics.fit.account import Account
from course.diagnostics.fit.command import Script
from course.diagnostics.fit.record import Plain
from course.launch import SINGLE_THREADED

LIMIT_S = 600.0  # for one rehearsal, even on a busy machine

Setup = tuple[int, Mapping[str, object]]  # a number of ranks, and the changes of a rehearsal


@dataclass(frozen=True)
class Rehearsal:
    """The outcome of one rehearsal.

    `assumed` has the lines whose values were assumed, `notes` says what makes the account less
    certain, `applied_changes` has the changes that found something to change, and `batch` is the
    script's own batch size.
    """

    ranks: int
    account: Account
    assumed: list[str]
    notes: list[str]
    applied_changes: list[str]
    batch: int | None


class NotFollowed(CourseError):
    """A script cannot be rehearsed; `output` is the end of what it printed."""

    def __init__(self, reason: str, output: str) -> None:
        super().__init__(reason)
        self.output = output


class Client:
    """Rehearses a script again and again, each time in a new fork of one process."""

    def __init__(self, script: Script) -> None:
        self._script = script
        path = os.environ.get("PYTHONPATH")
        env = {**os.environ, **SINGLE_THREADED,
               "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), path])),
               "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}  # fmt: skip
        files = [] if script.is_module else [script.name]
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # `close` closes it
        self._process = subprocess.Popen(
            [sys.executable, "-m", "course.diagnostics.fit.rehearsal", *files],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, env=env, text=True,
        )  # fmt: skip
        assert self._process.stdin and self._process.stdout, "both are pipes"
        self._requests, self._answers = self._process.stdin, self._process.stdout

    def rehearse(self, ranks: int, **changes: object) -> Rehearsal:
        """Rehearse with this many ranks; raises `NotFollowed` with the reason if that fails."""
        (outcome,) = self.rehearse_all([(ranks, changes)])
        if isinstance(outcome, NotFollowed):
            raise outcome
        return outcome

    def rehearse_all(self, setups: Sequence[Setup]) -> list[Rehearsal | NotFollowed]:
        """Rehearse several at once, each on a core; raises `CourseError` if no answer comes."""
        requests = [
            {**self._script.request(ranks), "changes": changes} for ranks, changes in setups
        ]
        self._requests.write(json.dumps(requests) + "\n")
        self._requests.flush()
        limit = LIMIT_S * max(1, len(setups))
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            if not selector.select(limit):
                raise CourseError(
                    f"{self._script.name} took no optimizer step within {limit / 60:.0f} minutes: "
                    "give a command that reaches one sooner."
                )
        answer = self._answers.readline()
        if not answer:
            self._errors.seek(0)
            last = self._errors.read().strip().splitlines() or ["no reason was given"]
            raise CourseError(f"Nothing can be rehearsed here: {last[-1]}")
        pairs = zip(setups, json.loads(answer), strict=True)
        return [_outcome(ranks, outcome) for (ranks, _), outcome in pairs]

    def close(self) -> None:
        """End the process, and any rehearsal that is still running."""
        self._requests.close()
        self._process.terminate()
        self._process.wait()
        self._answers.close()
        self._errors.close()


def _outcome(ranks: int, answer: Plain) -> Rehearsal | NotFollowed:
    if "failed" in answer:
        return NotFollowed(answer["failed"], answer["output"])
    return from_plain(Rehearsal, {"ranks": ranks, **answer})


@contextmanager
def open_client(script: Script) -> Iterator[Client]:
    """Open a client, and close it at the end."""
    opened = Client(script)
    try:
        yield opened
    finally:
        opened.close()
