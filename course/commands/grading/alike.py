"""Find the scripts of a class that are the same program, or differ only in names of variables."""

import ast
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from course.commands.grading.submissions import Submission

SOLUTION = "the published solution"


@dataclass(frozen=True)
class Group:
    """Scripts of one exercise that are the same program, apart from comments and blank space.

    `lines` counts the lines of the first of them that were not handed out. If there are few, honest
    work is the same, too. `renamed` says that only the variables have other names.
    """

    exercise: str
    learners: tuple[str, ...]
    renamed: bool
    lines: int


def alike(
    submissions: Iterable[Submission], handed_out: Mapping[str, str], solved: Mapping[str, str]
) -> list[Group]:
    """The groups of learners whose scripts are alike; the published solution counts as one.

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
    """Count the lines of code of a script that were not handed out."""
    return (_code_lines(text) - _code_lines(blank)).total()


def _code_lines(text: str) -> Counter[str]:
    """Count how often each line of code stands in a script, without comments and blank lines."""
    lines = map(str.strip, text.splitlines())
    return Counter(line for line in lines if line and not line.startswith("#"))


def program(text: str, renamed: bool = False) -> str:
    """The program of a script without the way in which it is written down.

    `renamed` also leaves out which names it gives to its variables and arguments.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's, about a learner's code
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
    """Number the names that the program gives itself, in the order in which they appear."""
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
