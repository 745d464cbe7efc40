"""The page for the end of a session: what the room expected and what it measured, without names."""

from collections.abc import Sequence
from html import escape

from course.charts import guesses as pictures
from course.commands.grading import html_parts
from course.commands.grading.submissions import Submission
from course.core import ROOT, words
from course.lessons import labs
from course.notebook import guesses

NO_GUESSES = (
    "<p>Nobody handed in a guess. They lie in the folder <code>kept</code> beside the scripts, so "
    "ask for the whole folder <code>labs/src</code>.</p>"
)


def page(submissions: Sequence[Submission], numbers: Sequence[str] = ()) -> str:
    """The page of a class: a picture for each question that has an answer.

    `numbers` are the numbers of the requested labs, such as "04b"; all labs if it is empty.
    """
    sections, guesses_of_all = [], [submission.guesses for submission in submissions]
    for lab in labs(ROOT):
        if numbers and lab.number not in numbers:
            continue
        answered = [
            _question([own[name] for own in guesses_of_all if name in own]) for name in lab.guesses
        ]
        if questions := "".join(answered):
            sections.append(f"<h2>{lab.number} · {escape(lab.title)}</h2>{questions}")
    body = "".join(sections) or NO_GUESSES
    return f"{html_parts.head('What the room expected, and what it measured')}{body}</body></html>"


def _question(answers: Sequence[guesses.Question]) -> str:
    """One question with its answers, as HTML; "" if nobody guessed.

    Only answers of the most frequent unit and choices count: the others answer an older question.
    """
    kinds = [(answer.unit, answer.choices) for answer in answers]
    comparable = [
        answer
        for answer in answers
        if (answer.unit, answer.choices) == max(set(kinds), key=kinds.count)
    ]
    guessed = [answer.guess for answer in comparable if answer.guess is not None]
    measured = [answer.value for answer in comparable if answer.value is not None]
    if not guessed:
        return ""
    first = comparable[0]
    if first.choices:
        shown = str(pictures.choices(first.choices, guessed, measured))
    elif first.unit:
        shown = str(pictures.numbers(guessed, measured, first.shown))
    else:
        shown = _texts(guessed, measured)
    late = sum(answer.late for answer in comparable)
    after = f"; {words.plural(late, 'person')} guessed after a run" if late else ""
    people = f'<p class="note">{words.plural(len(guessed), "answer")}{after}</p>'
    return f"<h3>{first.question_html}</h3>{shown}{people}"


def _texts(guessed: Sequence[str], measured: Sequence[str]) -> str:
    """A table of the different answers, each with the number of people who gave it."""
    rows = "".join(
        f"<tr><th scope=row>{head}</th><td>{escape(text)}</td><td>{answers.count(text)}</td></tr>"
        for head, answers in (("guessed", guessed), ("measured", measured))
        for text in sorted(set(answers), key=answers.count, reverse=True)
    )
    return f"<table><tbody>{rows}</tbody></table>"
