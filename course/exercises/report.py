"""The verdict on an exercise: the requested checks and their results, as data, JSON or a table.

Because the request is kept next to the results, a verdict that ended early is never a pass.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from course.core import from_plain, lesson_marks, todo
from course.exercises import verdict_card
from course.exercises.exercise import exercises
from course.exercises.verdict import Outcome, Result


@dataclass(frozen=True)
class Report:
    """The verdict on one exercise; a notebook shows it as a table.

    `check_names` are those of all checks that were to run, `results` their results, in order, and
    `passed_elsewhere` the other exercises that are known to have passed.
    """

    exercise: str
    check_names: Sequence[str]
    results: Sequence[Result]
    passed_elsewhere: Collection[str] = ()

    @property
    def ok(self) -> bool:
        """Whether every check has passed."""
        return bool(self.check_names) and self.passed_count == len(self.check_names)

    @property
    def judged(self) -> bool:
        """Whether the verdict is final: no check is missing, and none has to be run again."""
        complete = bool(self.check_names) and {result.check for result in self.results} == set(
            self.check_names
        )
        return complete and not any(result.again for result in self.results)

    @property
    def passed_count(self) -> int:
        """How many checks passed."""
        return self.count(Outcome.PASSED)

    @property
    def share(self) -> float:
        """The share of the checks that passed, from 0 to 1."""
        return self.passed_count / max(len(self.check_names), 1)

    @property
    def begun(self) -> bool:
        """Whether there is something to judge: at least one check ended other than at a TODO."""
        return any(result.outcome != Outcome.OPEN for result in self.results)

    @property
    def verdict(self) -> str:
        """One line."""
        passed = lesson_marks.PASSED_COUNT.format(self.passed_count, len(self.check_names))
        counts = [passed] if self.begun else []
        if left := len(self.check_names) - len(self.results) + self.count(Outcome.NOT_JUDGED):
            counts.append(f"{left} not judged")
        summary = ", ".join(counts)
        if open_todos := self._open_todos():
            still_open = f"still to write: {todo.summary(open_todos)}"
            summary = f"{summary}; {still_open}" if summary else still_open
            return f"{self.exercise}: {summary}"
        return f"{self.exercise}: {summary or 'nothing was judged'}."

    def count(self, outcome: Outcome) -> int:
        """How many checks had this outcome."""
        return sum(result.outcome == outcome for result in self.results)

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON data, which `from_dict` reads."""
        return {
            "exercise": self.exercise,
            "asked": list(self.check_names),
            "results": [asdict(result) for result in self.results],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Report":
        """Read what `as_dict` wrote; raises `KeyError`, `TypeError` or `ValueError` otherwise."""
        results = tuple(from_plain(Result, result) for result in data["results"])
        return cls(data["exercise"], tuple(data["asked"]), results)

    def __repr__(self) -> str:
        return verdict_card.text(self._headline(), self._shown())

    def _repr_html_(self) -> str:
        return verdict_card.as_html(self._headline(), self._shown())

    def card(self) -> str:
        """The verdict as HTML, without a word on what comes next."""
        return verdict_card.as_html(self.verdict, self._shown())

    def _headline(self) -> str:
        """The verdict, and what comes next if all checks passed."""
        known = exercises()
        if self.ok and self.exercise in known:
            return f"{self.verdict} {known[self.exercise].next(self.passed_elsewhere)}"
        return self.verdict

    def _shown(self) -> Sequence[Result]:
        """The rows of the table: the checks, or many TODOs of an exercise that is not begun."""
        if self.begun:
            return self.results
        todos = self._open_todos()
        if len(todos) <= todo.IN_WORDS:
            return ()
        return [Result("", task, Outcome.OPEN) for task in todos]

    def _open_todos(self) -> list[str]:
        """The TODOs that are still open, each once."""
        messages = [result.message for result in self.results if result.outcome == Outcome.OPEN]
        return list(dict.fromkeys(task for message in messages for task in todo.split(message)))
