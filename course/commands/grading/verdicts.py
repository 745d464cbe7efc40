"""Get the verdicts on a class: run several checks at a time, within a limit, and keep each."""

import json
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from course.checks import check, digest
from course.commands.grading.names import slug
from course.commands.grading.submissions import Submission
from course.core import CourseError, Interrupted, todo, words, write_atomically
from course.exercises import Outcome, Report, Result, exercises

INTERRUPTED = "the command was interrupted before"
Verdicts = dict[str, dict[str, Report]]  # by learner and exercise


@dataclass
class Judge:
    """Runs the checks, and keeps their verdicts below `folder`.

    A kept verdict counts again only for the same scripts, the same checks and the same `isolated`.
    `minutes` is how long all checks of one learner may take.
    """

    folder: Path
    isolated: bool
    minutes: float
    _checks: str = field(default_factory=lambda: digest())
    _spent: dict[str, float] = field(default_factory=dict)  # seconds by learner
    _stop: Event = field(default_factory=Event)

    def judge(self, submissions: Sequence[Submission], names: Sequence[str], jobs: int) -> Verdicts:
        """The verdicts on these exercises; what an interrupt leaves out is not judged."""
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
        under_way = {pool.submit(self._ask, *pair): pair for pair in pairs}
        try:
            _follow(under_way)
        except KeyboardInterrupt:
            self._stop.set()
        pool.shutdown(cancel_futures=True)
        for future, (submission, name) in under_way.items():
            if not future.cancelled():
                verdicts[submission.learner][name] = future.result()
        return verdicts

    def _path(self, submission: Submission, name: str) -> Path:
        return self.folder / slug(submission.learner) / f"{name}.json"

    def _judged(self, submission: Submission) -> dict:
        """What a verdict depends on."""
        return {"scripts": submission.digest(), "checks": self._checks, "isolated": self.isolated}

    def _stored(self, submission: Submission, name: str) -> Report | None:
        """The verdict that is kept, None if there is none on these scripts."""
        try:
            record = json.loads(self._path(submission, name).read_text(encoding="utf-8"))
            report = Report.from_dict(record["report"])
            return report if record["judged"] == self._judged(submission) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _ask(self, submission: Submission, name: str) -> Report:
        """Run the checks of one exercise, and keep the verdict if they have judged it."""
        learner = submission.learner
        left = self.minutes * 60 - self._spent.get(learner, 0.0)
        if left <= 0:
            over = f"the {self.minutes:g} minutes of this learner were over"
            return _not_judged(name, f"{over}: `--minutes` gives more")
        begun = time.monotonic()
        try:
            src = str(submission.src.resolve())
            report = check(
                name, src=src, isolated=self.isolated, thorough=True, limit=left, stop=self._stop
            )
        except Interrupted:
            return _not_judged(name, INTERRUPTED)
        except CourseError as error:
            return _not_judged(name, str(error))
        except Exception as error:  # one learner's code must not end the class
            return _not_judged(name, f"{type(error).__name__}: {error}")
        finally:
            self._spent[learner] = self._spent.get(learner, 0.0) + time.monotonic() - begun
        if report.judged:
            record = {"judged": self._judged(submission), "report": report.as_dict()}
            write_atomically(self._path(submission, name), json.dumps(record, indent=1))
        return report


def _follow(under_way: dict[Future, tuple[Submission, str]]) -> None:
    """Wait for all verdicts, and print each of them."""
    begun = time.monotonic()
    for number, future in enumerate(as_completed(under_way), 1):
        submission, name = under_way[future]
        report = future.result()
        left = (time.monotonic() - begun) / number * (len(under_way) - number)
        held = f"{report.held} of {len(report.checks)}" if report.judged else "not judged"
        print(
            f"{number} of {len(under_way)}: {submission.learner}, {name}: {held} "
            f"(about {words.long_duration(left)} left)",
            flush=True,
        )


def _as_handed_out(submission: Submission, name: str) -> Report | None:
    """The report on a script in which nothing is written, without running a check."""
    blank = exercises()[name].script(solved=False)
    if submission.text(name).split() != blank.split():
        return None
    open_ones = todo.in_sentences(todo.open_todos(submission.src / f"{name}.py"))
    result = Result("", "Something is written.", Outcome.OPEN, message=open_ones)
    return Report(name, ("",), (result,))


def _not_judged(name: str, why: str) -> Report:
    """The report on an exercise that was not checked."""
    result = Result("", "The checks ran.", Outcome.NOT_JUDGED, message=why, again=True)
    return Report(name, ("",), (result,))
