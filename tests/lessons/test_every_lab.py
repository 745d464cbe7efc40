"""What every lab has, in both of its forms: a script, its run, a beginning that says what for."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
from support.sitting import MOST_CHARACTERS, MOST_MINUTES, MOST_TODOS, sitting

from course.core.files import ROOT
from course.lessons.lesson import START, Cell, Lesson, labs, scan

WIDE = 120  # columns
WORDS = 4  # of prose for each line of code, at the least
BETWEEN = 150  # lines between two things to do, at the most
NOTEBOOKS = sorted(
    path
    for form in ("labs", "solutions")
    for path in ROOT.glob(f"{form}/*.ipynb")
    if path.stem != START
)
RUN = re.compile(r"%(?:why )?(?:torchrun|accelerate launch)\b.*?(src/\w+\.py)")
STARTS = re.compile(r"num_workers=[1-9]|mp\.spawn\(")
TOP = (
    r"> - \*\*After this lab\*\* .+\n(?:>.*\n)*"
    r"> - \*\*You need\*\* .+\n(?:>.*\n)*> - \*\*Time:\*\* .+"
)


def acts(cell: Cell) -> bool:
    """Whether there is something to run and look at, or to write: not only a script to read."""
    return cell.target is None or bool(scan(cell.source.splitlines())[0])


by_name = pytest.mark.parametrize("lab", labs(ROOT), ids=lambda lab: lab.name)


@pytest.mark.parametrize(
    "path", NOTEBOOKS, ids=lambda path: "/".join(path.relative_to(ROOT).with_suffix("").parts)
)
def test_it_writes_a_script_and_runs_it_on_ranks_from_a_cell(path: Path):
    cells = [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    written = {re.match(r"%%writefile (\S+)", cell)[1] for cell in cells if "%%writefile" in cell}
    launched = {script for cell in cells for script in RUN.findall(cell)}
    assert written & launched


@by_name
def test_it_begins_with_what_for_what_with_and_how_long(lab: Lesson):
    assert re.search(TOP, lab.cells[0].source)


@by_name
def test_its_time_what_it_builds_on_and_its_exercises_can_be_read(lab: Lesson):
    """The map of the labs is drawn from them."""
    earlier = [one.number for one in labs(ROOT) if one.name < lab.name]
    assert lab.minutes >= 30 and lab.exercises
    assert set(lab.needs) <= set(earlier) and bool(lab.needs) == bool(earlier)


@by_name
def test_its_first_cell_says_what_its_header_says(lab: Lesson):
    assert set(lab.header) == {"minutes", "seconds", "needs"}
    said = lab.cells[0].source
    sentence = re.search(r"^> - \*\*You need\*\* ([^;.]*)", said, re.MULTILINE)[1]
    assert re.findall(r"\b\d\d[a-z]?\b", sentence) == lab.needs
    assert f"about {lab.minutes} minutes" in said and f"about {lab.seconds} s " in said


@by_name
def test_it_is_one_sitting(lab: Lesson):
    counted = sitting(lab)
    assert counted.minutes <= MOST_MINUTES and counted.characters <= MOST_CHARACTERS, counted
    assert counted.todos <= MOST_TODOS, counted


@by_name
def test_it_takes_as_long_as_it_says(lab: Lesson):
    counted = sitting(lab)
    assert counted.seconds > 0
    assert counted.minutes <= lab.minutes <= MOST_MINUTES, counted


@by_name
def test_its_prose_is_wrapped_one_way(lab: Lesson):
    tables = ("|", "![", "```", "<")
    shown = [re.sub(r"{{ \w+ }}", "00", line) for line in lab.lines]
    wide = [
        number
        for number, line in enumerate(shown, 1)
        if len(line) > WIDE and not line.lstrip("> ").startswith(tables) and " " in line[:WIDE]
    ]
    assert wide == []


@by_name
def test_it_explains_its_code(lab: Lesson):
    text = {"code": "", "markdown": ""}
    for cell in lab.cells:
        text[cell.kind] += f"{cell.source}\n"
    code = [line for line in text["code"].splitlines() if line.strip()]
    assert len(text["markdown"].split()) >= WORDS * len(code)


@by_name
def test_there_is_always_something_to_do_soon(lab: Lesson):
    to_do = [1, *(cell.line for cell in lab.cells if cell.kind == "code" and acts(cell))]
    gaps = {line: line - before for before, line in pairwise(to_do)}
    assert {line: gap for line, gap in gaps.items() if gap > BETWEEN} == {}


@by_name
def test_what_starts_processes_can_be_imported_by_them(lab: Lesson):
    """They import the script where they are not forked: on macOS, and from Python 3.14 on."""
    for target, text in lab.scripts(solved=True).items():
        if STARTS.search(text):
            acting = [node for node in ast.parse(text).body if isinstance(node, ast.Expr)][1:]
            assert acting == [], f"{target} acts when it is imported"


@by_name
def test_a_process_group_outlives_the_models_that_use_it(lab: Lesson):
    """Freed after its group, a DDP model can hang over Gloo (pytorch/pytorch issue 56297).

    It then destroys the group, which joins its threads, and keeps Python's lock meanwhile; a thread
    that just then frees a tensor of the last collective waits for the lock.
    """
    for target, text in lab.scripts(solved=True).items():
        functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
        ending = [n for n in map(ast.unparse, functions) if "dist.destroy_process_group()" in n]
        assert not any("model" in function for function in ending), target
