"""Judge a class: run several checks at a time, within a time limit, and store each verdict."""

import json
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from course.checks import check
from course.commands.grading.names import file_name
from course.commands.grading.submissions import Submission
from course.core import CourseError, Interrupted, todo, words, write_atomically
from course.exercises import Outcome, Report, Result, exercises

INTERRUPTED = "the command was interrupted before"
Verdicts = dict[str, dict[str, Report]]  # by learner and exercise


@dataclass
class Judge:
    """Runs the checks, and stores their verdicts in `folder`.

    A stored verdict is used again only for the same scripts, the same digest of the `checks` and
    the same `isolated`. `minutes` limits the time of all checks of one learner.
    """

    folder: Path
    checks: str
    isolated: bool
    minutes: float
    _spent: dict[str, float] = field(default_factory=dict)  # seconds by learner
    _stop: Event = field(default_factory=Event)

    def judge(self, submissions: Sequence[Submission], names: Sequence[str], jobs: int) -> Verdicts:
        """The verdicts on these exercises; those that an interrupt prevents are not judged."""
        verdicts: Verdicts = {submission.learner: {} for submission in submissions}
        pairs = []
        for submission in submissions:
            for name in submission.exercises:
                if name in names:
                    report = _as_handed_out(submission, name) or self._stored(submission, name)
                    verdicts[submission.learner][name] = report or _not_judged(name, INTERRUPTED)
                    if report is None:
                        pairs.append((submission, name))
        pool = ThreadPoolExecutor(jobs)
        pending = {pool.submit(self._check, *pair): pair for pair in pairs}
        try:
            _follow(pending)
        except KeyboardInterrupt:
            self._stop.set()
        pool.shutdown(cancel_futures=True)
        for future, (submission, name) in pending.items():
            if not future.cancelled():
                verdicts[submission.learner][name] = future.result()
        return verdicts

    def _path(self, submission: Submission, name: str) -> Path:
        return self.folder / file_name(submission.learner) / f"{name}.json"

    def _inputs(self, submission: Submission) -> dict:
        """Everything that a verdict depends on."""
        return {"scripts": submission.digest(), "checks": self.checks, "isolated": self.isolated}

    def _stored(self, submission: Submission, name: str) -> Report | None:
        """The stored verdict on these scripts; None if there is none."""
        try:
            record = json.loads(self._path(submission, name).read_text(encoding="utf-8"))
            report = Report.from_dict(record["report"])
            return report if record["judged"] == self._inputs(submission) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _check(self, submission: Submission, name: str) -> Report:
        """Run the checks of one exercise, and store the verdict if there is one."""
        learner = submission.learner
        left = self.minutes * 60 - self._spent.get(learner, 0.0)
        if left <= 0:
            over = f"this learner's {self.minutes:g} minutes are up"
            return _not_judged(name, f"{over}: `--minutes` gives more")
        start = time.monotonic()
        try:
            src = str(submission.src.resolve())
            report = check(
                name, src=src, isolated=self.isolated, thorough=True, limit=left, stop=self._stop
            )
        except Interrupted:
            return _not_judged(name, INTERRUPTED)
        except CourseError as error:
            return _not_judged(name, str(error))
        except Exception as error:  # one learner's code must not stop the class
            return _not_judged(name, f"{type(error).__name__}: {error}")
        finally:
            self._spent[learner] = self._spent.get(learner, 0.0) + time.monotonic() - start
        if report.judged:
            record = {"judged": self._inputs(submission), "report": report.as_dict()}
            write_atomically(self._path(submission, name), json.dumps(record, indent=1))
        return report


def _follow(pending: dict[Future, tuple[Submission, str]]) -> None:
    """Wait for the verdicts, and print each one as it comes."""
    start = time.monotonic()
    for number, future in enumerate(as_completed(pending), 1):
        submission, name = pending[future]
        report = future.result()
        left = (time.monotonic() - start) / number * (len(pending) - number)
        passed = f"{report.passed_count} of {len(report.checks)}" if report.judged else "not judged"
        print(
            f"{number} of {len(pending)}: {submission.learner}, {name}: {passed} "
            f"(about {words.long_duration(left)} left)",
            flush=True,
        )


def _as_handed_out(submission: Submission, name: str) -> Report | None:
    """The report on a script that is as it was handed out; None if it is not."""
    if not exercises()[name].is_blank(submission.text(name)):
        return None
    open_ones = todo.in_sentences(todo.open_todos(submission.src / f"{name}.py"))
    result = Result("", "Something is written.", Outcome.OPEN, message=open_ones)
    return Report(name, ("",), (result,))


def _not_judged(name: str, why: str) -> Report:
    """The report on an exercise that was not checked."""
    result = Result("", "The checks ran.", Outcome.NOT_JUDGED, message=why, again=True)
    return Report(name, ("",), (result,))
