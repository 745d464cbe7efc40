"""The gradebook of a class: a line for each learner, with points, days late and doubts."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from course.commands.grading.alike import Group
from course.commands.grading.comments import Comment
from course.commands.grading.formats import csv_text
from course.commands.grading.submissions import Submission
from course.exercises import Outcome, Report

DAY = 24 * 3600  # seconds
NO_COMMENT = Comment()


@dataclass(frozen=True)
class GradebookLine:
    """One learner: the submission, the verdicts by exercise, and notes.

    `late` is in days; each day costs `percent` percent of the points.
    """

    submission: Submission
    weights: Mapping[str, float]
    reports: Mapping[str, Report]
    comment: Comment = NO_COMMENT
    doubts: Sequence[str] = ()
    late: float = 0.0
    percent: float = 0.0

    @property
    def learner(self) -> str:
        """The learner's name."""
        return self.submission.learner

    @property
    def section(self) -> str:
        """The learner's section of the class, "" if the roster has none."""
        return self.submission.person.section if self.submission.person else ""

    def points(self, name: str) -> float:
        """The points of one exercise: the teacher's, or the share of the checks that passed."""
        report = self.reports.get(name)
        earned = self.weights[name] * report.share if report else 0.0
        return self.comment.points.get(name, earned)

    @property
    def total(self) -> float:
        """The sum of all points, minus the deduction for lateness."""
        factor = max(0.0, 1 - self.late * self.percent / 100)
        return factor * sum(self.points(name) for name in self.weights)

    @property
    def not_judged(self) -> list[str]:
        """The exercises that were handed in but not fully judged, by checks or the teacher."""
        own = self.comment.points
        return [name for name, report in self.reports.items() if not (report.judged or name in own)]

    @property
    def notes(self) -> list[str]:
        """Short notes on this learner for the teacher."""
        notes = [self.submission.problem, *self.submission.notes]
        notes += [f"late: {self.late:g} d"] if self.late else []
        notes += self.doubts
        notes += [f"not judged: {', '.join(self.not_judged)}"] if self.not_judged else []
        notes += [f"your remark: {self.comment.remark}"] if self.comment.remark else []
        return [note for note in notes if note]


@dataclass(frozen=True)
class Gradebook:
    """A class: a line for each learner, the points of each exercise, and equal programs."""

    lines: Sequence[GradebookLine]
    weights: Mapping[str, float]
    groups: Sequence[Group] = ()

    @property
    def max_points(self) -> float:
        """The highest possible number of points."""
        return sum(self.weights.values())

    def mean(self, name: str) -> float:
        """The class's mean share of the points of an exercise, from 0 to 1."""
        max_points = self.weights[name] * len(self.lines)
        return sum(line.points(name) for line in self.lines) / max_points if max_points else 0.0

    @property
    def failing(self) -> list[tuple[str, str, int, int]]:
        """The failing checks, most frequent first.

        Each is an exercise, a claim, how many learners fail it, and how many have begun the
        exercise.
        """
        failures = []
        for name in self.weights:
            reports = [line.reports.get(name) for line in self.lines]
            begun = [report for report in reports if report and report.begun]
            counts = Counter(
                result.claim
                for report in begun
                for result in report.results
                if result.outcome == Outcome.FAILED
            )
            failures += [(name, claim, count, len(begun)) for claim, count in counts.items()]
        return sorted(failures, key=lambda failure: -failure[2])

    def as_csv(self) -> str:
        """The class as CSV: a row for each learner, with all points and notes."""
        rows = [
            ["learner", "id", "section", "points", "late", "not judged", *self.weights, "notes"]
        ]
        for line in self.lines:
            person = line.submission.person
            rows.append(
                [
                    line.learner,
                    person.id if person else "",
                    line.section,
                    round(line.total, 4),
                    round(line.late, 2),
                    " ".join(line.not_judged),
                    *(round(line.points(name), 4) for name in self.weights),
                    "; ".join(line.notes),
                ]
            )
        return csv_text(rows)


def days_late(submission: Submission, due: datetime | None) -> float:
    """The number of days by which a submission is late, rounded up.

    A learner's own time in the roster takes precedence over `due`. A submission that the roster or
    Canvas only marks as late is one day late.
    """
    person = submission.person
    due = person.due if person and person.due else due
    seconds_late = submission.time - due.timestamp() if due and submission.time else 0.0
    if seconds_late > 0:
        return math.ceil(seconds_late / DAY)
    return 1.0 if submission.late or (person and person.late) else 0.0
