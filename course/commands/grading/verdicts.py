"""Judge a class: several learners at a time, each within a time limit; store each verdict."""

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

    A stored verdict is used again only for the same scripts, the same `checks_digest` and the same
    `isolated`. `minutes` limits the time of all checks of one learner.
    """

    folder: Path
    checks_digest: str
    isolated: bool
    minutes: float
    _stop: Event = field(default_factory=Event)

    def judge(self, submissions: Sequence[Submission], names: Sequence[str], jobs: int) -> Verdicts:
        """The verdicts on these exercises; those that an interrupt prevents are not judged.

        `jobs` learners are judged at a time, each of them one exercise after the other.
        """
        verdicts = {
            submission.learner: {
                name: _as_handed_out(submission, name)
                or self._stored(submission, name)
                or _not_judged(name, INTERRUPTED)
                for name in submission.exercises
                if name in names
            }
            for submission in submissions
        }
        with ThreadPoolExecutor(jobs) as pool:
            pending = [
                pool.submit(self._complete, submission, verdicts[submission.learner])
                for submission in submissions
                if not all(report.judged for report in verdicts[submission.learner].values())
            ]
            try:
                _follow(pending)
            except KeyboardInterrupt:
                self._stop.set()
        return verdicts

    def _complete(self, submission: Submission, reports: dict[str, Report]) -> None:
        """Replace the reports of one learner that are not judged, within the learner's minutes."""
        end = time.monotonic() + self.minutes * 60
        for name, known in reports.items():
            if not known.judged and not self._stop.is_set():
                report = reports[name] = self._check(submission, name, end - time.monotonic())
                passed = f"{report.passed_count} of {len(report.check_names)}"
                passed = passed if report.judged else "not judged"
                print(f"{submission.learner}, {name}: {passed}", flush=True)

    def _path(self, submission: Submission, name: str) -> Path:
        return self.folder / file_name(submission.learner) / f"{name}.json"

    def _inputs(self, submission: Submission) -> dict:
        """Everything that a verdict depends on."""
        scripts = submission.digest()
        return {"scripts": scripts, "checks": self.checks_digest, "isolated": self.isolated}

    def _stored(self, submission: Submission, name: str) -> Report | None:
        """The stored verdict on these scripts; None if there is none."""
        try:
            record = json.loads(self._path(submission, name).read_text(encoding="utf-8"))
            report = Report.from_dict(record["report"])
            return report if record["judged"] == self._inputs(submission) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _check(self, submission: Submission, name: str, limit: float) -> Report:
        """Run the checks of one exercise for `limit` seconds; store the verdict if there is one."""
        if limit <= 0:
            over = f"this learner's {self.minutes:g} minutes are up"
            return _not_judged(name, f"{over}: `--minutes` gives more")
        try:
            src = str(submission.src.resolve())
            report = check(
                name, src=src, isolated=self.isolated, thorough=True, limit=limit, stop=self._stop
            )
        except Interrupted:
            return _not_judged(name, INTERRUPTED)
        except CourseError as error:
            return _not_judged(name, str(error))
        except Exception as error:  # one learner's code must not stop the class
            return _not_judged(name, f"{type(error).__name__}: {error}")
        if report.judged:
            record = {"judged": self._inputs(submission), "report": report.as_dict()}
            write_atomically(self._path(submission, name), json.dumps(record, indent=1))
        return report


def _follow(pending: Sequence[Future]) -> None:
    """Wait for the learners' verdicts, and say how many learners are done."""
    start = time.monotonic()
    for number, future in enumerate(as_completed(pending), 1):
        future.result()
        left = (time.monotonic() - start) / number * (len(pending) - number)
        print(
            f"{number} of {words.plural(len(pending), 'learner')} done "
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
