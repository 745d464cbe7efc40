"""Find scripts of a class that are the same program, even if they name variables differently."""

import ast
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from course.commands.grading.submissions import Submission

SOLUTION = "the published solution"


@dataclass(frozen=True)
class Group:
    """Learners whose scripts for one exercise are the same program, except for comments and layout.

    `lines` counts the lines of code that the first of them added to what was handed out. If there
    are few, honest work looks the same. `renamed` is true if variables have different names.
    """

    exercise: str
    learners: tuple[str, ...]
    renamed: bool
    lines: int


def alike(
    submissions: Iterable[Submission], handed_out: Mapping[str, str], solved: Mapping[str, str]
) -> list[Group]:
    """The groups of learners with the same program; the published solution counts as a learner.

    `handed_out` and `solved` are the scripts by exercise. A script that is still as it was handed
    out is in no group.
    """
    written: dict[str, dict[str, str]] = {}
    for submission in submissions:
        for name in submission.exercises:
            written.setdefault(name, {})[submission.learner] = submission.text(name)
    return [
        group
        for name in handed_out
        if name in written
        for group in _groups(name, written[name], handed_out[name], solved[name])
    ]


def _groups(exercise: str, texts: dict[str, str], blank: str, solved: str) -> Iterable[Group]:
    texts = {learner: text for learner, text in texts.items() if program(text) != program(blank)}
    texts[SOLUTION] = solved
    by_shape: dict[str, list[str]] = {}
    for learner, text in texts.items():
        by_shape.setdefault(program(text, renamed=True), []).append(learner)
    for learners in by_shape.values():
        if len(learners) > 1:
            renamed = len({program(texts[learner]) for learner in learners}) > 1
            lines = _lines(blank, texts[learners[0]])
            yield Group(exercise, tuple(learners), renamed, lines)


def _lines(blank: str, text: str) -> int:
    """Count the lines of code in a script that were not handed out."""
    return (_code_lines(text) - _code_lines(blank)).total()


def _code_lines(text: str) -> Counter[str]:
    """Count how often each line of code occurs in a script, without comments and blank lines."""
    lines = map(str.strip, text.splitlines())
    return Counter(line for line in lines if line and not line.startswith("#"))


def program(text: str, renamed: bool = False) -> str:
    """The syntax tree of a script, as text: comments, docstrings and layout do not count.

    With `renamed`, the names of its variables and arguments do not count, either. A script that
    cannot be parsed is returned as it is.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's warnings about a learner's code
            tree = ast.parse(text)
        for node in ast.walk(tree):
            _drop_docstring(node)
        if renamed:
            _rename(tree)
        return ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


def _drop_docstring(node: ast.AST) -> None:
    if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and node.body:
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            del node.body[0]


def _rename(tree: ast.AST) -> None:
    """Replace the names that the program assigns by numbers, in the order of appearance."""
    nodes = list(ast.walk(tree))
    names = {node.arg for node in nodes if isinstance(node, ast.arg)}
    names |= {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    numbers: dict[str, str] = {}
    for node in nodes:
        match node:
            case ast.Name(id=name) if name in names:
                node.id = numbers.setdefault(name, f"name {len(numbers)}")
            case ast.arg(arg=name):
                node.arg = numbers.setdefault(name, f"name {len(numbers)}")
