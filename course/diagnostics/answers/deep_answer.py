"""The answer of `right --deep`: each gradient compared with that of one process."""

from course.core import words
from course.diagnostics.answers import output, right_answer
from course.diagnostics.finding import Finding
from course.diagnostics.right.against_one import DeepOutcome
from course.diagnostics.right.table import EQUAL, NOT_SEEN

SHOWN = 8  # parameters at most: those that differ most


class DeepAnswer:
    """The outcome of a comparison, to show; `ranks` is the number of ranks."""

    def __init__(self, outcome: DeepOutcome, ranks: int) -> None:
        self._outcome, self._ranks = outcome, ranks

    @property
    def findings(self) -> list[Finding]:
        """The faults that the comparison found."""
        return self._outcome.findings

    @property
    def title(self) -> str:
        """The answer in a sentence."""
        state, count = self._outcome.row.state, words.plural(self._ranks, "rank")
        if self.findings:
            return f"Wrong: {self.findings[0].what}, as one process shows."
        if state == EQUAL:
            return f"One process computes the same gradients as {count}."
        if state == NOT_SEEN:
            return f"{count} could not be compared with one process."
        return f"One process computes other gradients than {count}; nothing certain is wrong."

    def plain(self) -> dict[str, object]:
        """The answer as a dict for JSON, without the findings."""
        return {
            "ranks": self._ranks,
            "steps": 1,
            "rows": [self._outcome.row.plain()],
            "parameters": [vars(parameter) for parameter in self._outcome.parameters],
        }

    def __str__(self) -> str:
        row, shown = self._outcome.row, self._outcome.parameters[:SHOWN]
        lines = [output.text(list(map(right_answer.add_place, self.findings))), self.title]
        lines.append(right_answer.line(row))
        if shown:
            lines.append("Gradients of the first step, relative to those of one process:")
            width = max(len(parameter.name) for parameter in shown)
            for parameter in shown:
                lines.append(
                    f"  {parameter.name:{width}}  {parameter.times:7.3f} times, "
                    f"{parameter.difference:.0e} away"
                )
        if more := len(self._outcome.parameters) - len(shown):
            lines.append(f"  and {more} more that differ less")
        return "\n".join(filter(None, lines))
