"""Store what was guessed before a run, and what the run measured.

``src/kept/guesses/growth.json`` holds the question `growth`, the guess and the measurement, with
their times. Each question has its own file, next to the files of `progress`.
"""

import json
import math
import re
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from course.core import KEPT, CourseError, lesson_marks, words
from course.notebook import store

FOLDER = "guesses"  # in the folder `kept`
MOST = 300  # characters of an answer
SMALLEST, LARGEST = 1e-12, 1e15  # the range of the numbers, other than 0, that can be shown
NAME = re.compile(r"[a-z][a-z0-9_]{0,49}")
SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}  # units of time
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:[ ,_]\d{3})+(?:\.\d+)?")  # 16,000 or 1 234 567.8
PLAIN = re.compile(r"[+-]?\d*[.,]?\d+(?:e[+-]?\d{1,2})?", re.IGNORECASE)  # 3, 0.5, 3,5 or 1e4
EQUAL_POINTS = 0.5  # shares that differ by fewer percentage points count as equal
CLOSE = 1.05  # a measurement off by a smaller factor counts as guessed
DOUBLE = 2.0  # a smaller factor is shown as a difference in percent
Answer = float | str
ANSWERS = ("guess", "value", "best")  # the fields of `Question` that are answers


@dataclass(frozen=True)
class Question:
    """A question, the guess and the measurement; times are local, in ISO format, "" for never.

    An answer is a number in `unit`, one of `choices`, or a line of text if there is neither. A
    question that was skipped has the time `guessed` and no `guess`. `value` is from the last run,
    `measured` is the time of the first, and `best` is from the best run, if the lab defines one.
    """

    name: str
    question: str
    unit: str = ""
    choices: tuple[str, ...] = ()
    guess: Answer | None = None
    guessed: str = ""
    value: Answer | None = None
    measured: str = ""
    best: float | None = None

    @property
    def question_html(self) -> str:
        """The question as HTML."""
        return lesson_marks.as_html(self.question)

    @property
    def late(self) -> bool:
        """Whether the guess came after a measurement."""
        return bool(self.measured and self.guess is not None and self.guessed > self.measured)

    @property
    def ratio(self) -> float | None:
        """The measurement divided by the guess; None if that makes no sense.

        It is None for shares in %, which are compared by their difference.
        """
        numbers = isinstance(self.guess, float) and isinstance(self.value, float)
        if not numbers or self.unit == "%" or self.guess <= 0 or self.value <= 0:
            return None
        return self.value / self.guess

    def answer(self, text: str) -> Answer:
        """Parse what a learner typed or chose; raises `CourseError` if it is no valid answer."""
        text = " ".join(text.split())
        if self.choices:
            if text not in self.choices:
                raise CourseError(f"Choose one of: {', '.join(self.choices)}.")
            return text
        if not self.unit:
            if not text or len(text) > MOST:
                raise CourseError(f"Write one line, of at most {MOST} characters.")
            return text
        return number(text, self.unit)

    def shown(self, answer: Answer, digits: int = 2) -> str:
        """An answer with its unit: '41 µs', '16,384 times', 'falls'."""
        if isinstance(answer, str):
            return answer
        if self.unit in SECONDS:
            return words.duration(answer * SECONDS[self.unit], digits)
        if self.unit == "times" and 1 <= answer < DOUBLE:
            digits = max(3, digits)  # or 1.04 would be shown as 1
        return f"{words.significant(answer, digits)} {self.unit}".strip()

    def sentence(self) -> str:
        """One sentence with the guess, the measurement, and the difference between them."""
        guess = "" if self.guess is None else self._quoted(self.guess, 4)
        if self.value is None:
            skipped = "Skipped." if self.guessed else ""
            return f"You guessed {guess}." if guess else skipped
        value = self._quoted(self.value)
        if not guess:
            return f"It was {value}."
        difference = self._difference()
        late = " (You guessed after a run.)" if self.late else ""
        return (
            f"You guessed {guess}, it was {value}{f': {difference}' if difference else ''}.{late}"
        )

    def _quoted(self, answer: Answer, digits: int = 2) -> str:
        return f"“{answer}”" if isinstance(answer, str) else self.shown(answer, digits)

    def _difference(self) -> str:
        if isinstance(self.guess, str):
            return "as you guessed" if self.guess.lower() == self.value.lower() else ""
        if self.unit == "%":
            points = self.value - self.guess
            if abs(points) < EQUAL_POINTS:
                return "as you guessed"
            return f"{abs(points):.0f} points {'more' if points > 0 else 'less'}"
        if self.ratio is None:
            return ""
        factor = max(self.ratio, 1 / self.ratio)
        if factor < CLOSE:
            return "as you guessed" if factor == 1 else "as you guessed, within 5 %"
        if factor < DOUBLE:
            share = abs(self.ratio - 1)
            return f"{100 * share:.0f} % {'more' if self.ratio > 1 else 'less'}"
        return f"{words.significant(factor)} times {'as much' if self.ratio > 1 else 'less'}"


def number(text: str, unit: str) -> float:
    """Parse a number as people type it: '16,000', '~ 0.5', '3 ms'.

    Raises `CourseError` for any other text.
    """
    digits = text.removesuffix(unit).strip().lstrip("~≈").lstrip()
    value = math.nan
    if GROUPED.fullmatch(digits):
        value = float(re.sub("[ ,_]", "", digits))
    elif PLAIN.fullmatch(digits):
        value = float(digits.replace(",", "."))
    if not usable(value):
        raise CourseError("Your guess here is a number, such as 3, 0.5 or 2000.")
    return value


def usable(value: float) -> bool:
    """Whether a number can be shown and drawn: it is finite, and neither huge nor tiny."""
    return value == 0 or SMALLEST <= abs(value) <= LARGEST


def parse(text: str) -> Question | None:
    """Parse the text of a stored question; None if `write` cannot have written it."""
    try:
        fields = json.loads(text)
        known = Question(**fields | {"choices": tuple(fields["choices"])})
        for when in (known.guessed, known.measured):
            datetime.fromisoformat(when or "2000-01-01")
        texts = (known.name, known.question, known.unit, *known.choices)
        is_valid = {type(text) for text in texts} == {str} and bool(NAME.fullmatch(known.name))
        answers = {name: _valid_answer(getattr(known, name), known.unit) for name in ANSWERS}
        return replace(known, **answers) if is_valid else None
    except store.BROKEN:
        return None


def _valid_answer(answer: object, unit: str) -> Answer | None:
    """Validate an answer from a file; raises `ValueError` if it does not fit the unit."""
    if answer is None:
        return None
    if unit and isinstance(answer, int | float) and usable(answer):
        return float(answer)
    if not unit and isinstance(answer, str) and len(answer) <= MOST:
        return answer
    raise ValueError("an answer of another kind")


def path(name: str, src: Path) -> Path:
    """The file that stores a question."""
    return src / KEPT / FOLDER / f"{name}.json"


def read(name: str, src: Path) -> Question | None:
    """Read a question with its stored answers, if any; rename a broken file, and print a note."""
    return store.read(path(name, src), parse, "guesses are")


def recall(question: Question, src: Path) -> Question:
    """Add the stored answers to a question; if they do not fit it, rename their file instead."""
    stored = read(question.name, src)
    if stored is None:
        return question
    if (stored.unit, stored.choices) != (question.unit, question.choices):
        note = f"The question {question.name} was another one before: that guess is now in {{}}."
        store.rename_as_broken(path(question.name, src), note)
        return question
    return replace(stored, question=question.question)


def read_all(src: Path) -> list[Question]:
    """All stored questions, sorted by name."""
    names = sorted(path.stem for path in (src / KEPT / FOLDER).glob("*.json"))
    return [known for name in names if NAME.fullmatch(name) and (known := read(name, src))]


def write(question: Question, src: Path) -> None:
    """Store a question and its answers for `read`; if that fails, print a sentence."""
    store.write(path(question.name, src), asdict(question), "This guess is not kept")
