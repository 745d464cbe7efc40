"""The quiz: predict what each rank holds after a collective, then let real ranks say."""

import html
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets

from course.core import CourseError
from course.drawing import palette
from course.explore.models.collectives import COLLECTIVES, OPS, Cell, Example
from course.explore.pictures import collectives as picture
from course.launch import launch

SCRIPT = (
    "src/collectives.py"  # the lesson's own, which prints what each rank holds after a collective
)
ASKED = tuple(name for name in COLLECTIVES if name != "barrier")
LIMIT_S = 60.0  # of a run, with the start of its processes
FEWEST, MOST = 2, 4  # ranks


@dataclass(frozen=True)
class Answer:
    """One rank's numbers: as `predicted`, and as the run `measured` them; both empty where there are none."""

    rank: int
    predicted: tuple[int, ...]
    measured: tuple[int, ...]

    @property
    def right(self) -> bool:
        """Whether the prediction holds."""
        return self.predicted == self.measured


class Verdict:
    """What a run says of the predictions; a notebook shows it as a table."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.answers = list(answers)

    @property
    def right(self) -> bool:
        """Whether every prediction holds."""
        return all(answer.right for answer in self.answers)

    @property
    def summary(self) -> str:
        """One line."""
        held = sum(answer.right for answer in self.answers)
        return f"{held} of {len(self.answers)} predictions hold."

    def __repr__(self) -> str:
        rows = [f"  {_mark(a)} rank {a.rank}: predicted {_words(a.predicted)}, the run says {_words(a.measured)}"
                for a in self.answers]  # fmt: skip
        return "\n".join([self.summary, *rows])

    def _repr_html_(self) -> str:
        clear = "background:transparent"
        cell = f'style="text-align:left;padding:2px 14px 2px 0;{clear};color:'
        rows = "".join(
            f'<tr style="{clear}"><td {cell}{palette.GOOD if a.right else palette.ALARM}"><b>{_mark(a)}</b></td>'
            f'<td {cell}{palette.rank_colour(a.rank)}"><b>Rank {a.rank}</b></td>'
            f'<td {cell}{palette.INK}">you: {_words(a.predicted)}</td>'
            f'<td {cell}{palette.INK}">the run: {_words(a.measured)}</td></tr>'
            for a in self.answers
        )
        return (
            f'<div style="background:{palette.CARD};color:{palette.INK};border:1px solid {palette.RULE};'
            f'border-radius:8px;padding:8px 14px;max-width:732px"><b>{self.summary}</b>'
            f'<table style="border-collapse:collapse;margin-top:4px">{rows}</table></div>'
        )


class Quiz:
    """A question, a field for each rank, and a button that runs the collective on real ranks.

    Without a live front end ``ask`` puts a question and ``predict`` answers it.
    """

    def __init__(
        self, collective: str = "all-gather", ranks: int = 3, seed: int = 0, script: str = SCRIPT
    ) -> None:
        self._script, self._seed = script, seed
        self._fields: list[widgets.Text] = []
        self._which = widgets.Dropdown(options=ASKED, description="Collective")
        self._many = widgets.IntSlider(3, FEWEST, MOST, description="Ranks")
        self._other = widgets.Button(description="Other numbers")
        self._run = widgets.Button(description="Run it", button_style="primary")
        self._picture, self._said = widgets.HTML(), widgets.HTML()
        self._row = widgets.HBox()
        self.box = widgets.VBox([
            widgets.HBox([self._which, self._many, self._other]), self._picture, self._row, self._run, self._said,
        ])  # fmt: skip
        self.ask(collective, ranks)
        self._which.observe(lambda _: self._renew(), "value")
        self._many.observe(lambda _: self._renew(), "value")
        self._other.on_click(lambda _: self._another())
        self._run.on_click(lambda _: self._answer())

    def ask(self, collective: str, ranks: int = 3, seed: int | None = None) -> "Quiz":
        """Put a question; `seed` chooses the numbers, the root and the reduction."""
        if collective not in ASKED:
            raise CourseError(f"The quiz asks about {', '.join(ASKED)}, not {collective!r}.")
        if ranks not in range(FEWEST, MOST + 1):
            raise CourseError(f"The quiz runs {FEWEST} to {MOST} ranks, not {ranks!r}.")
        self._seed = self._seed if seed is None else seed
        self._which.value, self._many.value = collective, ranks
        self._renew()
        return self

    def predict(self, *answers: str | int | Sequence[int]) -> Verdict:
        """Run the collective on real ranks and compare: one answer a rank, such as ``"3 5 2"``, 10 or "" for nothing.

        Raises `CourseError` for a wrong number of answers, for one that cannot be read, or where the run fails.
        """
        if len(answers) != self.example.ranks:
            raise CourseError(
                f'There are {self.example.ranks} ranks: give one answer for each, "" for nothing.'
            )
        predicted = [_numbers(answer) for answer in answers]
        measured = self._measured()
        shown = [[Cell(n, source) for n, source in zip(row, self._sources(rank, row), strict=True)]
                 for rank, row in enumerate(measured)]  # fmt: skip
        self._picture.value = self._drawn(picture.AFTER, measured=shown)
        verdict = Verdict(
            [Answer(r, p, m) for r, (p, m) in enumerate(zip(predicted, measured, strict=True))]
        )
        self._said.value = verdict._repr_html_()
        return verdict

    def _renew(self) -> None:
        """A new question, its answer hidden."""
        name, ranks = self._which.value, self._many.value
        draw = random.Random(f"{self._seed} {name} {ranks}")
        numbers = tuple(tuple(draw.randint(1, 9) for _ in range(ranks)) for _ in range(ranks))
        self.example = Example(name, numbers, draw.randrange(ranks), draw.choice(list(OPS)))
        self._fields = [
            widgets.Text(description=f"Rank {rank}", placeholder="nothing", continuous_update=False,
                         layout=widgets.Layout(width="178px"), style={"description_width": "52px"})
            for rank in range(ranks)
        ]  # fmt: skip
        self._row.children = self._fields
        self._picture.value, self._said.value = self._drawn(picture.BEFORE), ""

    def _another(self) -> None:
        self._seed += 1
        self._renew()

    def _answer(self) -> None:
        """What the button does."""
        answers = [field.value for field in self._fields]
        if not any(answer.strip() for answer in answers):
            self._said.value = "Predict first: the numbers that each rank holds afterwards, with blanks between them."
            return
        try:
            self.predict(*answers)
        except CourseError as error:
            self._said.value = html.escape(str(error))

    def _drawn(self, moment: int, **options: Any) -> str:
        title = f"{self.example.name.capitalize()} on {self.example.ranks} ranks: what does each hold afterwards?"
        return picture.draw(self.example, moment, title=title, **options)

    def _measured(self) -> list[tuple[int, ...]]:
        """What each rank of a real run holds after the collective."""
        asked = self.example
        words = [
            "torchrun",
            "--standalone",
            "--nproc-per-node",
            str(asked.ranks),
            self._script,
            "--only",
            asked.name,
        ]
        words += ["--root", str(asked.root), "--op", asked.op]
        words += ["--numbers", *(str(number) for row in asked.numbers for number in row)]
        run = launch(words, limit=LIMIT_S)
        if not run.ok:
            first = run.first_failed
            why = run.text(None, "stderr") if first is None else run.traceback(first)
            raise CourseError(f"The run failed: {(why or run.reason).splitlines()[-1]}")
        return [_printed(run.text(rank, "stdout"), asked.name) for rank in range(asked.ranks)]

    def _sources(self, rank: int, row: tuple[int, ...]) -> list[tuple[int, ...]]:
        """The ranks whose numbers a rank's cells show, as far as the model knows the cells."""
        known = [cell.sources for cell in self.example.after()[rank]]
        return known if len(known) == len(row) else [(rank,)] * len(row)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        shown = self.box._repr_mimebundle_(**options)
        data = dict(shown[0] if isinstance(shown, tuple) else shown)
        return {**data, **self._drawn(picture.BEFORE)._repr_mimebundle_()}


def _mark(answer: Answer) -> str:
    return "✓" if answer.right else "✗"


def _words(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers)) or "nothing"


def _numbers(answer: str | int | Sequence[int]) -> tuple[int, ...]:
    """An answer as numbers; `CourseError` for anything else."""
    parts = re.split(r"[\s,;]+", answer.strip(" []()-")) if isinstance(answer, str) else answer
    parts = (
        [parts]
        if isinstance(parts, int)
        else [part for part in parts if part not in ("", "nothing")]
    )
    try:
        return tuple(int(part) for part in parts)
    except ValueError:
        raise CourseError(
            f"An answer is made of whole numbers, such as 3 5 2, not {answer!r}."
        ) from None


def _printed(text: str, name: str) -> tuple[int, ...]:
    """The numbers after the collective's name in what a rank printed."""
    line = next((line for line in text.splitlines() if line.split()[:1] == [name]), "")
    return tuple(int(word) for word in line.split()[1:] if word.lstrip("-").isdigit())
