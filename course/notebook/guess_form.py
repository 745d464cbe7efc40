"""Ask a question in a small form before a run, and show guess and measurement after it.

    %%guess growth times
    By what factor does the time grow?

    it_was("growth", slow / fast)

After the name comes the unit of a number, or choices, as in ``falls | stays | rises``, or nothing
if the answer is a line of text. The cells that follow run whether or not the learner answers.
"""

import html
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import anywidget
import traitlets
from IPython.display import DisplayHandle, display

from course.core import CourseError
from course.drawing import html_card, palette
from course.notebook import guesses, store
from course.notebook.guesses import Question
from course.notebook.store import SRC

STORED = "What the stored run showed"
USAGE = "%%guess takes a name, then a unit or choices: %%guess growth times."


class GuessForm(anywidget.AnyWidget):
    """The form of one question: Enter keeps an answer, a click skips, and both are stored."""

    _esm = Path(__file__).with_name("guess.js").read_text(encoding="utf-8")
    _css = Path(__file__).with_name("guess.css").read_text(encoding="utf-8")
    question = traitlets.Unicode().tag(sync=True)
    unit = traitlets.Unicode().tag(sync=True)
    choices = traitlets.List().tag(sync=True)
    sentence = traitlets.Unicode().tag(sync=True)  # instead of the field; "" shows the field
    change = traitlets.Unicode().tag(sync=True)  # label of the button to answer again; "" for none
    fault = traitlets.Unicode().tag(sync=True)
    stored = traitlets.Unicode().tag(sync=True)  # what the run showed, for a page without a kernel
    turn = traitlets.Int().tag(sync=True)  # grows with each reply, even an equal one

    def __init__(self, known: Question) -> None:
        super().__init__(question=known.question, unit=known.unit, choices=list(known.choices))
        self.on_msg(self._receive)
        self.show(known)

    def show(self, known: Question) -> None:
        """Show the question with the answers that are known by now."""
        self.known = known
        measured = known.value is not None
        button = "" if measured else "Guess" if known.guess is None else "Change"
        with self.hold_sync():
            self.sentence = known.sentence() if known.guessed else ""
            self.change, self.fault = button, ""
            self.stored = replace(known, guess=None).sentence() if measured else ""
            self.turn += 1

    def _receive(self, _: object, content: dict[str, Any], buffers: object = None) -> None:
        """Store an answer or a skip from the form; its time `at` is in ms since the epoch."""
        try:
            answer = None if content.get("skip") else self.known.answer(str(content.get("answer")))
        except CourseError as error:
            with self.hold_sync():
                self.fault = str(error)
                self.turn += 1
            return
        at = min(datetime.fromtimestamp(content["at"] / 1000), datetime.now())
        known = guesses.recall(self.known, SRC)
        if known.guess is None or known.value is None:  # otherwise the first answer stays
            known = replace(known, guess=answer, guessed=at.isoformat(timespec="seconds"))
            guesses.write(known, SRC)
        self.show(known)

    def __repr__(self) -> str:
        return self.sentence or "A guess."

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**options)
        return {**data, "text/html": self._static_html(), "text/plain": repr(self)}, metadata

    def _static_html(self) -> str:
        """The form as plain HTML: the guess, or else what the stored run showed, folded."""
        if self.sentence or not self.stored:
            return f"<p>{html.escape(self.sentence)}</p>" if self.sentence else ""
        return f"<details><summary>{STORED}</summary>{html.escape(self.stored)}</details>"


_forms: dict[str, tuple[GuessForm, DisplayHandle]] = {}  # the forms that this kernel shows, by name


def ask(line: str, cell: str) -> None:
    """Show the form of the question in a `%%guess` cell; raises `CourseError` if it is invalid."""
    name, _, kind = line.strip().partition(" ")
    text, kind = " ".join(cell.split()), kind.strip()
    choices = tuple(choice.strip() for choice in kind.split("|")) if "|" in kind else ()
    if not guesses.NAME.fullmatch(name) or not text or "" in choices:
        raise CourseError(USAGE)
    question = Question(name, text, "" if choices else kind, choices)
    form = GuessForm(guesses.recall(question, SRC))
    _forms[name] = form, display(form, display_id=True)


def it_was(name: str, value: float | str, best: Callable[..., float] | None = None) -> None:
    """Show a measurement next to the guess, and store it; NaN is ignored.

    `best` is `max` if more is better and `min` if less is; the best value of all runs is then
    stored as well. Raises `CourseError` for text if the question asks for a number, and for a
    number if it asks for text.
    """
    if not isinstance(value, str) and not guesses.usable(value):
        return
    form, handle = _forms.get(name, (None, None))
    known = guesses.recall(form.known, SRC) if form else guesses.read(name, SRC)
    value = value if isinstance(value, str) else float(value)
    if known is None:  # the question was not asked here
        known = Question(name, "", value=value)
    elif isinstance(value, str) == bool(known.unit):
        raise CourseError(f"{name} asks for another kind of answer than {value!r}.")
    else:
        known = replace(known, value=value, measured=known.measured or store.now())
        if best:
            known = replace(known, best=best(value, value if known.best is None else known.best))
        guesses.write(known, SRC)
    display(GuessAndValue(known))
    if form:
        form.show(known)
        handle.update(form)


class GuessAndValue:
    """A guess and the measurement, as a line below the question."""

    def __init__(self, known: Question) -> None:
        self.known = known

    def __repr__(self) -> str:
        return self.known.sentence()

    def _repr_html_(self) -> str:
        colour = palette.INK if self.known.guess is not None else palette.MUTED
        style = f"display:inline-block;padding:6px 14px;max-width:732px;color:{colour}"
        text = html.escape(repr(self))
        if self.known.question:
            small = f"color:{palette.MUTED};font-size:12px"
            text = f'<div style="{small}">{self.known.question_html}</div>{text}'
        return html_card.card(text, style)
