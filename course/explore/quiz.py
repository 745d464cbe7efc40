"""The quiz: predict what each rank holds after a collective, then check it on real ranks."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import traitlets

from course.core import CourseError
from course.drawing import Picture
from course.explore.controls import Button, Choice, Fields, Slider
from course.explore.models.collectives import COLLECTIVES, OPS, Example, Number
from course.explore.pictures import collectives as picture
from course.explore.widget import Explorable
from course.launch import launch

# The lesson's own script, which logs what each rank holds after a collective.
SCRIPT = "src/collectives.py"
QUESTIONS = tuple(name for name in COLLECTIVES if name != "barrier")
LIMIT_S = 60.0  # for a run, including the start of its processes
FEWEST, MOST = 2, 4  # ranks
QUESTION = ("collective", "ranks", "other")  # these values define a question; `other` is its seed
HOW = "Write the numbers that each rank holds afterwards, with blanks between them. Then run it."


@dataclass(frozen=True)
class RankPrediction:
    """One rank's numbers as `predicted`, and as the run `measured` them; () means no numbers."""

    rank: int
    predicted: tuple[int, ...]
    measured: tuple[int, ...]

    @property
    def right(self) -> bool:
        """Whether the prediction is right."""
        return self.predicted == self.measured


class QuizResult:
    """The predictions compared with a run."""

    def __init__(self, answers: Sequence[RankPrediction]) -> None:
        self.answers = list(answers)

    @property
    def right(self) -> bool:
        """Whether every prediction is right."""
        return all(answer.right for answer in self.answers)

    @property
    def summary(self) -> str:
        """The number of right predictions, in one line."""
        held = sum(answer.right for answer in self.answers)
        return f"{held} of {len(self.answers)} predictions hold."

    def __repr__(self) -> str:
        return "\n".join([self.summary, *map(_line, self.answers)])


class Quiz(Explorable):
    """A question, a field for each rank, and a button that runs the collective on real ranks.

    Without a live front end, use ``ask`` to set a question and ``predict`` to answer it. The `seed`
    determines the numbers, the root and the reduction.
    """

    def __init__(
        self, collective: str = "all-gather", ranks: int = 3, seed: int = 0, script: str = SCRIPT
    ) -> None:
        self._script = script
        self._verdict: QuizResult | None = None
        self._notice = ""  # what to show while there is no verdict
        self._question: list[Any] = []  # the question that the predictions answer
        super().__init__(
            self._draw_state,
            collective=Choice("Collective", QUESTIONS, "all-gather"),
            ranks=Slider("Ranks", FEWEST, MOST, 3),
            other=Button("Other numbers"),
            predicted=Fields("What each rank holds afterwards", _names),
            run=Button("Run it"),
        )
        self.ask(collective, ranks, seed)

    def ask(self, collective: str, ranks: int = 3, seed: int = 0) -> "Quiz":
        """Set a new question and clear the predictions.

        Raises `CourseError` for a collective or a number of ranks that the quiz does not have.
        """
        if collective not in QUESTIONS:
            raise CourseError(f"The quiz asks about {', '.join(QUESTIONS)}, not {collective!r}.")
        if ranks not in range(FEWEST, MOST + 1):
            raise CourseError(f"The quiz runs {FEWEST} to {MOST} ranks, not {ranks!r}.")
        self.at(collective=collective, ranks=ranks, other=seed, predicted=[], run=0)
        return self

    def predict(self, *answers: str | int | Sequence[int]) -> QuizResult:
        """Run the collective on real ranks and compare the answers with what they hold.

        Give one answer per rank, such as ``"3 5 2"``, 10, or "" for nothing. Raises `CourseError`
        if the number of answers is wrong, if one cannot be read, or if the run fails.
        """
        if len(answers) != self.example.ranks:
            raise CourseError(
                f'There are {self.example.ranks} ranks: give one answer for each, "" for nothing.'
            )
        predicted = [answer if isinstance(answer, str) else _text(answer) for answer in answers]
        self.at(predicted=predicted, run=self.values["run"] + 1)
        if self._verdict is None:
            raise CourseError(self._notice)
        return self._verdict

    @property
    def example(self) -> Example:
        """The call that the question is about."""
        name, ranks, seed = (self.values[key] for key in QUESTION)
        draw = random.Random(f"{seed} {name} {ranks}")
        numbers = tuple(tuple(draw.randint(1, 9) for _ in range(ranks)) for _ in range(ranks))
        return Example(name, numbers, draw.randrange(ranks), draw.choice(list(OPS)))

    @traitlets.validate("values")
    def _accept(self, proposal: dict[str, Any]) -> dict[str, Any]:
        """Clear the predictions if the question has changed."""
        values = self._state.accepted(proposal["value"])
        question = [values[name] for name in QUESTION]
        if question != self._question:  # not `self.values`: a front end has already changed those
            values |= {"predicted": [""] * values["ranks"], "run": 0}
        self._question = question
        return values

    @traitlets.observe("values")
    def _redraw(self, change: dict[str, Any]) -> None:
        self.controls = self._state.specs(self.values)
        self._verdict, self._notice = None, ""
        if change["old"] and self.values["run"] > change["old"]["run"]:
            self._notice = f"{self.example.ranks} ranks run it now …"
            self.picture = self._state.picture(self.values)
            try:
                self._verdict = self._judge()
            except CourseError as error:
                self._notice = str(error)
        self.picture = self._state.picture(self.values)

    def _judge(self) -> QuizResult:
        """Compare the predictions with a run on real ranks."""
        texts = self.values["predicted"]
        if not any(text.strip() for text in texts):
            raise CourseError(f"Predict first. {HOW}")
        predicted = [_numbers(text) for text in texts]
        return QuizResult(
            list(map(RankPrediction, range(len(texts)), predicted, self._run_collective()))
        )

    def _draw_state(self, predicted: list[str], **_: object) -> Picture:
        example = self.example
        title = (
            f"{example.name.capitalize()} on {example.ranks} ranks: what does each hold afterwards?"
        )
        if self._verdict is None:
            return picture.draw_quiz(example, map(_readable, predicted), title, self._notice or HOW)
        answers = self._verdict.answers
        measured = [self._cells(answer.rank, answer.measured) for answer in answers]
        numbers = [answer.predicted for answer in answers]
        return picture.draw_quiz(example, numbers, self._verdict.summary[:-1], measured=measured)

    def _run_collective(self) -> list[tuple[int, ...]]:
        """Run the collective and return what each rank holds afterwards."""
        example = self.example
        command = ["torchrun", "--standalone", "--nproc-per-node", str(example.ranks), self._script]
        command += ["--only", example.name, "--root", str(example.root), "--op", example.op]
        command += ["--numbers", *(str(number) for row in example.numbers for number in row)]
        run = launch(command, limit=LIMIT_S)
        if not run.ok:
            first = run.first_failed
            output = run.text(None, "stderr") if first is None else run.traceback(first)
            raise CourseError(f"The run failed: {(output or run.reason).splitlines()[-1]}")
        held = {
            row["rank"]: row["holds"] for row in run.rows if row.get("collective") == example.name
        }
        return [tuple(map(int, held[rank].split())) for rank in range(example.ranks)]

    def _cells(self, rank: int, numbers: tuple[int, ...]) -> list[Number]:
        """A rank's numbers with their sources; the rank itself if the model has another count."""
        sources = [cell.sources for cell in self.example.after()[rank]]
        if len(sources) != len(numbers):
            sources = [(rank,)] * len(numbers)
        return [Number(*cell) for cell in zip(numbers, sources, strict=True)]


def _names(values: dict[str, Any]) -> list[str]:
    """The names of the fields: one for each rank."""
    return [f"Rank {rank}" for rank in range(values["ranks"])]


def _line(answer: RankPrediction) -> str:
    """Format an answer as a line of text."""
    mark = "✓" if answer.right else "✗"
    predicted, measured = (
        _text(numbers) or "nothing" for numbers in (answer.predicted, answer.measured)
    )
    return f"  {mark} rank {answer.rank}: predicted {predicted}, the run says {measured}"


def _text(answer: int | Sequence[int]) -> str:
    """Format numbers as a learner types them."""
    return str(answer) if isinstance(answer, int) else " ".join(map(str, answer))


def _readable(text: str) -> tuple[int, ...]:
    """Parse the numbers typed so far; () while they cannot be read."""
    try:
        return _numbers(text)
    except CourseError:
        return ()


def _numbers(text: str) -> tuple[int, ...]:
    """Parse typed numbers; raise `CourseError` if the text is anything else."""
    parts = re.split(r"[\s,;]+", text.strip(" []()-"))
    try:
        return tuple(int(part) for part in parts if part not in ("", "nothing"))
    except ValueError:
        raise CourseError(
            f"An answer is made of whole numbers, such as 3 5 2, not {text!r}."
        ) from None
