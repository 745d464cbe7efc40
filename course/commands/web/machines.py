"""The page of machines: what others published, line by line, and the benches that were sent."""

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from course.charts import published
from course.charts.published import Line
from course.commands.bench_results import side_by_side
from course.commands.web.living import living
from course.core import words

TEXT = Path(__file__).parent / "texts" / "machines.md"
SENT = Path(__file__).parent / "benches"  # a file of `bench --json` for each machine
NONE_YET = "None so far: yours would be the first."


def machines_page(sent: Path = SENT) -> str:
    """The page, as Markdown, with the benches that lie in the folder `sent`."""
    found = published.lines()
    benches = sorted(sent.glob("*.json"))
    given = {
        "count": str(sum(len(line.figures) for line in found)),
        "living": living("machines", {}),
        "authors": str(len({line.by for line in found})),
        "tables": "\n\n".join(_tables(found)),
        "benches": f"```text\n{side_by_side(benches)}\n```" if benches else NONE_YET,
    }
    text = TEXT.read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: given[match[1]], text)


def _tables(found: Sequence[Line]) -> list[str]:
    """A heading and a table for each thing that was measured."""
    by_kind = sorted(found, key=lambda line: line.measured)
    parts = []
    for measured, lines in groupby(by_kind, lambda line: line.measured):
        rows = ["| machine | link | at the smallest | at the largest | who, when |"]
        rows.append("|---|---|---|---|---|")
        parts.append("\n".join([f"### {measured}\n", *rows, *map(_row, lines)]))
    return parts


def _row(line: Line) -> str:
    ranks = f", {line.ranks} ranks" if line.ranks else ""
    ends = (_figure(line, *line.figures[end]) for end in (0, -1))
    source = f"[{line.by}]({line.address}), {line.published}"
    cells = [f"{line.name}: {line.machine}{ranks}", line.link, *ends, source]
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _figure(line: Line, along: float, value: float) -> str:
    """A number of the line, with where it was measured."""
    where = {
        "bytes": f"at {words.size(along)}",
        "GPUs": f"on {words.plural(round(along), 'GPU')}",
    }
    return f"{words.significant(value)} {line.unit} {where.get(line.along, f'at n = {along:,.0f}')}"
