"""Show a verdict as lines in a terminal, or as a small table in a notebook."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from course.drawing import html_card, palette
from course.exercises.verdict import Outcome, Result

SAME = "the same as above"
WHERE = re.compile(r"^(With \d+ ranks, rank \d+|Your code) ")
PRINTED = "What your code printed:"


@dataclass(frozen=True)
class Sign:
    """The sign and the colour of an outcome."""

    sign: str
    colour: str


MARKS = {
    Outcome.PASSED: Sign("✓", palette.GOOD),
    Outcome.FAILED: Sign("✗", palette.ALARM),
    Outcome.OPEN: Sign("○", palette.MUTED),
    Outcome.NOT_JUDGED: Sign("–", palette.MUTED),
}


def text(verdict: str, results: Sequence[Result]) -> str:
    """The verdict in one line, and one or more lines for each check."""
    lines = [verdict]
    for result in _each_message_once(results):
        lines.append(f"  {MARKS[result.outcome].sign} {result.claim}")
        lines += [f"      {line}" for line in result.message.splitlines()]
        lines += [f"      Hint: {result.hint}"] if result.hint else []
        lines += [f"      {PRINTED}"] if result.printed else []
        lines += [f"      {line}" for line in result.printed.splitlines()]
    return "\n".join(lines)


def as_html(verdict: str, results: Sequence[Result]) -> str:
    """The verdict above a table with a row for each check."""
    rows = "".join(_row(result) for result in _each_message_once(results))
    table = "width:100%;margin-top:6px;border-collapse:collapse"
    return html_card.card(
        f'<b>{_marked(verdict)}</b><table style="{table}">{rows}</table>',
        "padding:10px 14px;max-width:732px",
    )


def _each_message_once(results: Sequence[Result]) -> Iterator[Result]:
    """Yield the results, with each message only once: a typo may fail every check.

    Messages are the same even if different ranks reported them. A repeated message is dropped with
    its hint. If one error stops all checks, such as a syntax error, a single result reports it.
    """
    messages = {WHERE.sub("Your code ", result.message) for result in results}
    same = next(iter(messages), "")
    if len(results) > 1 and len(messages) == 1 and same.startswith("Your code failed"):
        claim = f"All {len(results)} checks end with the same error."
        yield replace(results[0], claim=claim, message=same)
        return
    shown = set()
    for result in results:
        message = WHERE.sub("", result.message)
        is_repeated = bool(message) and message in shown
        yield Result(result.check, result.claim, result.outcome, SAME) if is_repeated else result
        shown.add(message)


def _row(result: Result) -> str:
    mark = MARKS[result.outcome]
    cell = f"text-align:left;vertical-align:top;padding:3px 8px;{html_card.CLEAR}"
    claim, details = _marked(result.claim), _marked(result.message)
    if result.hint:
        details += f"\n<i>{_marked(result.hint)}</i>"
    if result.printed:
        details += f"\n{PRINTED}\n<code>{html.escape(result.printed)}</code>"
    if details:
        details = f'<div style="white-space:pre-wrap;color:{palette.MUTED}">{details.strip()}</div>'
    return (
        f'<tr style="{html_card.CLEAR}">'
        f'<td style="{cell};color:{mark.colour};width:1.2em"><b>{mark.sign}</b></td>'
        f'<td style="{cell};color:{palette.INK}">{claim}{details}</td></tr>'
    )


def _marked(sentence: str) -> str:
    """Text as HTML, with everything between backticks as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(sentence))
