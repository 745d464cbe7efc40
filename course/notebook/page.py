"""The learner's page of results: what passed, what was guessed, what this machine measured.

It is one self-contained HTML file, made to be printed.
"""

import hashlib
from datetime import datetime
from html import escape
from pathlib import Path

from course import hardware
from course.core import ROOT, CourseError, installed, read_script, words, write_atomically
from course.drawing import html_page, palette
from course.lessons import Lesson, labs
from course.notebook import guesses, progress
from course.notebook.progress import Record
from course.notebook.store import SRC
from course.notebook.stuck import Prose

NAME = "page.html"
DIGITS = 16  # of a digest that are shown
STYLE = (
    f"body{{font:15px/1.5 {palette.FONT};color:{palette.INK};background:{palette.CARD};"
    "max-width:860px;margin:0 auto;padding:1.5em}"
    "h1{font-size:1.6em}h2{font-size:1.15em;margin:1.6em 0 .3em}"
    "table{border-collapse:collapse;table-layout:fixed;width:100%;font-size:.93em}"
    "h1+table th{width:20%}table+table{margin-top:.8em}"
    f"td,th{{text-align:left;vertical-align:top;padding:4px 12px 4px 0;"
    f"border-top:1px solid {palette.RULE};font-weight:normal}}"
    f"thead th{{color:{palette.MUTED};border:0}}code{{font-size:.9em;overflow-wrap:anywhere}}"
    f".note{{color:{palette.MUTED}}}tr,h2{{break-inside:avoid;break-after:avoid}}"
    "tbody tr{break-after:auto}@page{margin:18mm}"
)
LIMITS = (
    "This page was made on the learner's own machine, from files that the learner can edit. It "
    "does not say who wrote the scripts, or with whose help. A check tries how a script behaves; "
    "it does not read it. The figures are those of one machine, and of the last run there; the "
    "best of several runs flatters, because some of it is luck."
)
SURE = (
    "To be sure, ask for the scripts, and compare: <code>sha256sum ring.py</code> begins with the "
    "digest of the script that passed, and <code>course check --isolated --src DIR ring</code> "
    "judges it again. Better still, ask why a figure came out as it did."
)


def write(name: str = "", src: Path = SRC) -> Prose:
    """Write the page of `name` into `src`, and return a link; raises `CourseError` if it cannot."""
    path = src / NAME
    try:
        write_atomically(path, page(name, src))
    except OSError as error:
        raise CourseError(f"{path} cannot be written: {error.strerror}.") from None
    return Prose(f"Your page is [{path.as_posix()}]({path.as_posix()}). Open it in a browser.")


def page(name: str, src: Path) -> str:
    """The page as HTML; `name` is the learner's name, and "" leaves a line to write it on."""
    lessons = labs(ROOT)
    names = [exercise for lab in lessons for exercise in lab.exercises]
    records = {exercise: stored for exercise in names if (stored := progress.read(exercise, src))}
    passed = {exercise for exercise, stored in records.items() if stored.passed_at}
    whole = [lab.number for lab in lessons if lab.exercises and passed.issuperset(lab.exercises)]
    spent = sum(stored.seconds for stored in records.values())
    version = installed.version(installed.PACKAGE) or "unknown"
    facts = {
        "Name": escape(name.strip()) or "_" * 30,
        "Exercises": f"{len(passed)} of {words.plural(len(names), 'exercise')} passed",
        "Labs": f"all exercises passed in {', '.join(whole)}" if whole else "",
        "Checks": f"ran for {words.long_duration(spent)} in all" if spent else "",
        "Machine": "<br>".join(map(escape, _machine())),
        "Course": f"version {escape(version)}, page made on {_day(datetime.now().isoformat())}",
    }
    rows = "".join(
        f"<tr><th scope=row>{head}</th><td>{text}</td></tr>" for head, text in facts.items() if text
    )
    stored = {question.name: question for question in guesses.read_all(src)}
    return (
        html_page.head("Multi-GPU training, done", STYLE)
        + f"<h1>Multi-GPU training: what was done</h1><table>{rows}</table>"
        + "".join(_lab(lab, records, stored, src) for lab in lessons)
        + f"<h2>What this page does not prove</h2><p>{LIMITS}</p><p>{SURE}</p></body></html>\n"
    )


def _lab(
    lab: Lesson, records: dict[str, Record], stored: dict[str, guesses.Question], src: Path
) -> str:
    """The results of one lab as HTML; "" if there are none."""
    done = "".join(_exercise(records[name], src) for name in lab.exercises if name in records)
    questions = [stored[name] for name in lab.guesses if name in stored]
    answers = "".join(
        f"<tr><th scope=row>{question.question_html}</th><td>{_sentences(question)}</td></tr>"
        for question in questions
        if question.value is not None or question.guess is not None
    )
    heads = "<thead><tr>{}</tr></thead>".format
    tables = [
        f"<table>{heads(''.join(f'<th scope=col>{head}</th>' for head in columns))}"
        f"<tbody>{rows}</tbody></table>"
        for columns, rows in (
            (("exercise", "passed", "checks", "SHA-256 of the script"), done),
            (("question", "guessed and measured"), answers),
        )
        if rows
    ]
    return f"<h2>{lab.number} · {escape(lab.title)}</h2>{''.join(tables)}" if tables else ""


def _sentences(question: guesses.Question) -> str:
    """A guess and its measurement, and below them the best measurement, as HTML."""
    best = "" if question.best is None else f"Best of all runs: {question.shown(question.best)}."
    return "<br>".join(escape(line) for line in (question.sentence(), best) if line)


def _exercise(record: Record, src: Path) -> str:
    """The row of one exercise."""
    when, digest = "not yet", ""
    if record.passed_at:
        when = _day(record.passed_at)
        digest = f"<code>{hashlib.sha256(record.script.encode()).hexdigest()[:DIGITS]}</code>"
        path = src / f"{record.exercise}.py"
        if not path.is_file() or read_script(path) != record.script:
            digest += ' <span class="note">(changed since)</span>'
    checks = f"{len(record.passed_checks)} of {record.check_count} hold"
    took = f", {words.long_duration(record.seconds)}" if record.seconds else ""
    cells = "".join(f"<td>{cell}</td>" for cell in (when, checks + took, digest))
    return f"<tr><th scope=row>{escape(record.exercise)}</th>{cells}</tr>"


def _machine() -> list[str]:
    """The lines of the machine's card, except those about the labs."""
    lines = hardware.card().lines
    return [f"{topic}: {text}" for topic, text in lines.items() if topic != "Labs"]


def _day(when: str) -> str:
    return progress.date_and_time(when).partition(" at ")[0]
