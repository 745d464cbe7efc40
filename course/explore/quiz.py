"""The quiz: predict what each rank holds after a collective, then let real ranks say."""

import html
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets

from course.core import CourseError
from course.drawing import html_card, palette, widget_view
from course.explore.models.collectives import COLLECTIVES, OPS, Cell, Example
from course.explore.pictures import collectives as picture
from course.launch import launch

# The lesson's own script, which logs what each rank holds after a collective.
SCRIPT = "src/collectives.py"
ASKED = tuple(name for name in COLLECTIVES if name != "barrier")
LIMIT_S = 60.0  # of a run, with the start of its processes
FEWEST, MOST = 2, 4  # ranks


@dataclass(frozen=True)
class Answer:
    """One rank's numbers, as `predicted` and as the run `measured` them; () if it has none."""

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
        return "\n".join([self.summary, *map(_line, self.answers)])

    def _repr_html_(self) -> str:
        rows = "".join(map(_row, self.answers))
        table = f'<table style="border-collapse:collapse;margin-top:4px">{rows}</table>'
        style = "padding:8px 14px;max-width:732px"
        return html_card.card(f"<b>{self.summary}</b>{table}", style)


class Quiz:
    """A question, a field for each rank, and a button that runs the collective on real ranks.

    Without a live front end ``ask`` puts a question and ``predict`` answers it.
    """

    def __init__(
        self, collective: str = "all-gather", ranks: int = 3, seed: int = 0, script: str = SCRIPT
    ) -> None:
        self._script, self._seed = script, seed
        self._fields: list[widgets.Text] = []
        self._collective = widgets.Dropdown(options=ASKED, description="Collective")
        self._ranks = widgets.IntSlider(3, FEWEST, MOST, description="Ranks")
        self._other = widgets.Button(description="Other numbers")
        self._run = widgets.Button(description="Run it", button_style="primary")
        self._picture, self._verdict = widgets.HTML(), widgets.HTML()
        self._row = widgets.HBox()
        choices = widgets.HBox([self._collective, self._ranks, self._other])
        self.box = widgets.VBox([choices, self._picture, self._row, self._run, self._verdict])
        self.ask(collective, ranks)
        self._collective.observe(lambda _: self._renew(), "value")
        self._ranks.observe(lambda _: self._renew(), "value")
        self._other.on_click(lambda _: self._another())
        self._run.on_click(lambda _: self._answer())

    def ask(self, collective: str, ranks: int = 3, seed: int | None = None) -> "Quiz":
        """Put a question; `seed` chooses the numbers, the root and the reduction."""
        if collective not in ASKED:
            raise CourseError(f"The quiz asks about {', '.join(ASKED)}, not {collective!r}.")
        if ranks not in range(FEWEST, MOST + 1):
            raise CourseError(f"The quiz runs {FEWEST} to {MOST} ranks, not {ranks!r}.")
        self._seed = self._seed if seed is None else seed
        self._collective.value, self._ranks.value = collective, ranks
        self._renew()
        return self

    def predict(self, *answers: str | int | Sequence[int]) -> Verdict:
        """Run the collective on real ranks and compare.

        Give one answer per rank, such as ``"3 5 2"``, 10, or "" for nothing. Raises `CourseError`
        for a wrong number of answers, for one that cannot be read, or where the run fails.
        """
        if len(answers) != self.example.ranks:
            raise CourseError(
                f'There are {self.example.ranks} ranks: give one answer for each, "" for nothing.'
            )
        predicted = [_numbers(answer) for answer in answers]
        measured = self._measured()
        shown = [self._cells(rank, numbers) for rank, numbers in enumerate(measured)]
        self._picture.value = self._drawn(picture.AFTER, measured=shown)
        ranks = range(self.example.ranks)
        verdict = Verdict([Answer(rank, predicted[rank], measured[rank]) for rank in ranks])
        self._verdict.value = verdict._repr_html_()
        return verdict

    def _renew(self) -> None:
        """A new question, its answer hidden."""
        name, ranks = self._collective.value, self._ranks.value
        draw = random.Random(f"{self._seed} {name} {ranks}")
        numbers = tuple(tuple(draw.randint(1, 9) for _ in range(ranks)) for _ in range(ranks))
        self.example = Example(name, numbers, draw.randrange(ranks), draw.choice(list(OPS)))
        self._fields = [_field(rank) for rank in range(ranks)]
        self._row.children = self._fields
        self._picture.value, self._verdict.value = self._drawn(picture.BEFORE), ""

    def _another(self) -> None:
        self._seed += 1
        self._renew()

    def _answer(self) -> None:
        """What the button does."""
        answers = [field.value for field in self._fields]
        if not any(answer.strip() for answer in answers):
            self._verdict.value = (
                "Predict first: the numbers that each rank holds afterwards, "
                "with blanks between them."
            )
            return
        try:
            self.predict(*answers)
        except CourseError as error:
            self._verdict.value = html.escape(str(error))

    def _drawn(self, moment: int, **options: Any) -> str:
        asked = f"{self.example.name.capitalize()} on {self.example.ranks} ranks"
        title = f"{asked}: what does each hold afterwards?"
        return picture.draw(self.example, moment, title=title, **options)

    def _measured(self) -> list[tuple[int, ...]]:
        """What each rank of a real run holds after the collective."""
        asked = self.example
        command = ["torchrun", "--standalone", "--nproc-per-node", str(asked.ranks), self._script]
        command += ["--only", asked.name, "--root", str(asked.root), "--op", asked.op]
        command += ["--numbers", *(str(number) for row in asked.numbers for number in row)]
        run = launch(command, limit=LIMIT_S)
        if not run.ok:
            first = run.first_failed
            why = run.text(None, "stderr") if first is None else run.traceback(first)
            raise CourseError(f"The run failed: {(why or run.reason).splitlines()[-1]}")
        held = {
            row["rank"]: row["holds"] for row in run.rows if row.get("collective") == asked.name
        }
        return [tuple(map(int, held[rank].split())) for rank in range(asked.ranks)]

    def _cells(self, rank: int, numbers: tuple[int, ...]) -> list[Cell]:
        """What a rank holds, with the ranks whose numbers are in it as far as the model knows."""
        sources = [cell.sources for cell in self.example.after()[rank]]
        if len(sources) != len(numbers):
            sources = [(rank,)] * len(numbers)
        return [Cell(*cell) for cell in zip(numbers, sources, strict=True)]

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        still = self._drawn(picture.BEFORE)
        return {**widget_view.bundle(self.box), **still._repr_mimebundle_()}


def _field(rank: int) -> widgets.Text:
    """Where a rank's numbers are predicted."""
    return widgets.Text(
        description=f"Rank {rank}",
        placeholder="nothing",
        continuous_update=False,
        layout=widgets.Layout(width="178px"),
        style={"description_width": "52px"},
    )


def _mark(answer: Answer) -> str:
    return "✓" if answer.right else "✗"


def _line(answer: Answer) -> str:
    """An answer as text."""
    predicted, measured = _listed(answer.predicted), _listed(answer.measured)
    return f"  {_mark(answer)} rank {answer.rank}: predicted {predicted}, the run says {measured}"


def _row(answer: Answer) -> str:
    """An answer as a row of the table."""
    mark = palette.GOOD if answer.right else palette.ALARM
    cells = (
        (mark, f"<b>{_mark(answer)}</b>"),
        (palette.rank_colour(answer.rank), f"<b>Rank {answer.rank}</b>"),
        (palette.INK, f"you: {_listed(answer.predicted)}"),
        (palette.INK, f"the run: {_listed(answer.measured)}"),
    )
    style = f"text-align:left;padding:2px 14px 2px 0;{html_card.CLEAR}"
    row = "".join(f'<td style="{style};color:{colour}">{text}</td>' for colour, text in cells)
    return f'<tr style="{html_card.CLEAR}">{row}</tr>'


def _listed(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers)) or "nothing"


def _numbers(answer: str | int | Sequence[int]) -> tuple[int, ...]:
    """An answer as numbers; `CourseError` for anything else."""
    if isinstance(answer, int):
        return (answer,)
    parts = re.split(r"[\s,;]+", answer.strip(" []()-")) if isinstance(answer, str) else answer
    try:
        return tuple(int(part) for part in parts if part not in ("", "nothing"))
    except ValueError:
        raise CourseError(
            f"An answer is made of whole numbers, such as 3 5 2, not {answer!r}."
        ) from None
