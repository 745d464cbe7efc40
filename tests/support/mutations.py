"""Mutations: small changes to a solved script, made on its syntax tree, as in a wrong answer.

Each function in `KINDS` takes one node of the tree and proposes edits. An edit lists nodes, each
with the text that replaces it. Only the code between BEGIN and END SOLUTION is changed.
"""

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from course.core.lesson_marks import BEGIN, END

Edit = list[tuple[ast.AST, str]]  # nodes, and the text that replaces each

SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.Return, ast.Delete, ast.Raise, ast.Continue)
OUTPUT = ("print", "log")  # calls that only inform a reader
SYMMETRIC = ("min", "max", "zip")
NEIGHBOURS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
NEIGHBOURS |= {ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is"}
OTHER_WAY = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/"}
TWINS = [("rank", "world_size"), ("get_rank", "get_world_size"), ("rank", "size"), ("src", "dst")]
TWINS += [("rank", "ranks"), ("left", "right"), ("first", "last"), ("min", "max"), ("any", "all")]
TWINS += [("MIN", "MAX"), ("SUM", "AVG"), ("floor", "ceil"), ("worker", "workers")]
CONSTANTS = {"int": "2", "float": "0.37", "bool": "True"}


@dataclass(frozen=True)
class Mutation:
    """A script that differs a little from the solved one, at `line` (from 1)."""

    kind: str
    line: int
    solved: str
    script: str

    @cached_property
    def diff(self) -> str:
        """The lines that differ, with a minus or a plus before each.

        If lines change places, all of them are listed: a diff would show only one of two as moved.
        """
        before, after = self.solved.splitlines(), self.script.splitlines()
        lines = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
        lines = [line for line in lines if not line.startswith("@@")]
        removed, added = ([x[1:] for x in lines if x[0] == sign] for sign in "-+")
        if removed == added:
            places = [i for i, (x, y) in enumerate(zip(before, after, strict=True)) if x != y]
            block = slice(places[0], places[-1] + 1)
            lines = ["-" + line for line in before[block]] + ["+" + line for line in after[block]]
        return "\n".join(lines)


def mutations(solved: str) -> list[Mutation]:
    """All mutations that are valid Python, sorted by line, without duplicates."""
    script, by_tree = _Script(solved), {}
    for node in script.nodes:
        for kind in KINDS:
            for edit in kind(node, script):
                text = script.edited(edit)
                if (tree := _tree(text)) and tree not in by_tree and tree != script.dump:
                    by_tree[tree] = Mutation(kind.__name__, node.lineno, solved, text)
    return sorted(by_tree.values(), key=lambda mutation: mutation.line)


def _tree(text: str) -> str:
    try:
        return ast.dump(ast.parse(text))
    except SyntaxError:
        return ""


def _name_of(node: ast.AST) -> str:
    """The name of the function that a node calls; "" if it calls none by its name."""
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return node.func.id if named else ""


class _Script:
    """A script and its syntax tree; positions count bytes, as in the tree."""

    def __init__(self, text: str) -> None:
        self._bytes, tree = text.encode(), ast.parse(text)
        self._starts, self.dump = [0], ast.dump(tree)
        for line in self._bytes.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self.modules = {
            name.asname or name.name.partition(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in node.names
        }
        open_at, inside = False, set()
        for number, line in enumerate(text.splitlines(), start=1):
            if BEGIN in line or END in line:
                open_at = BEGIN in line
            elif open_at:
                inside.add(number)
        self.types: dict[str, str] = {}  # of parameters, by name
        self.nodes = [node for node in self._walk(tree) if node.lineno in inside]
        blocks = (getattr(node, "body", None) for node in ast.walk(tree))
        self.next = {  # by statement: the one after it in its block
            statement: after
            for block in blocks
            for statement, after in pairwise(block if isinstance(block, list) else [])
            if after in self.nodes
        }

    def _walk(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes that affect results: no annotations, f-strings, errors or output."""
        if isinstance(node, ast.arg) and isinstance(node.annotation, ast.Name):
            self.types[node.arg] = node.annotation.id
        if isinstance(node, ast.JoinedStr | ast.arg | ast.Raise):
            return
        if isinstance(node, ast.Expr) and _name_of(node.value) in OUTPUT:
            return
        if isinstance(node, ast.keyword) and node.arg == "strict":  # zip's: it changes no result
            return
        if hasattr(node, "lineno"):
            yield node
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and name not in ("annotation", "returns"):
                    if isinstance(child, ast.arguments):
                        yield from (a for a in map(self._walk, child.args) for a in a)
                    else:
                        yield from self._walk(child)

    def text(self, node: ast.AST) -> str:
        """The source of a node."""
        begin, end = self._span(node)
        return self._bytes[begin:end].decode()

    def edited(self, edit: Edit) -> str:
        """The whole script with an edit applied."""
        text = self._bytes
        for node, new in sorted(edit, key=lambda part: -self._span(part[0])[0]):
            begin, end = self._span(node)
            text = text[:begin] + new.encode() + text[end:]
        return text.decode()

    def _span(self, node: ast.AST) -> tuple[int, int]:
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )


def statement_left_out(node: ast.AST, script: _Script) -> Iterator[Edit]:
    """A statement does nothing."""
    if isinstance(node, SIMPLE):
        yield [(node, "pass")]


def statement_twice(node: ast.AST, script: _Script) -> Iterator[Edit]:
    """A call, or an augmented assignment such as `x += 1`, is done twice."""
    if isinstance(node, ast.AugAssign) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield [(node, f"{script.text(node)}; {script.text(node)}")]


def statements_swapped(node: ast.AST, script: _Script) -> Iterator[Edit]:
    """Two statements change places."""
    if isinstance(node, SIMPLE) and isinstance(other := script.next.get(node), SIMPLE):
        yield [(node, script.text(other)), (other, script.text(node))]


def branch(node: ast.AST, script: _Script) -> Iterator[Edit]:
    """A condition always holds, or never holds."""
    if isinstance(node, ast.If | ast.IfExp):
        yield [(node.test, "True")]
        yield [(node.test, "False")]


def comparison(node: ast.AST, script: _Script) -> Iterator[Edit]:
    """A comparison is off by one, or reversed."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = script.text(node.left), script.text(node.comparators[0])
        yield [(node, f"{left} {NEIGHBOURS[type(node.ops[0])]} {right}")]


def part_left_out(node: ast.AST, script: _Script) -> Iterator[Edit]:
    """Only one operand of `a + b` or `a and b` stays, or the operator changes; `not` is dropped."""
    match node:
        case ast.BinOp():
            left, right = script.text(node.left), script.text(node.right)
            yield from ([(node, left)], [(node, right)])
            if type(node.op) in OTHER_WAY:
                yield [(node, f"({left}) {OTHER_WAY[type(node.op)]} ({right})")]
        case ast.BoolOp():
            for value in node.values:
                yield [(node, script.text(value))]
        case ast.UnaryOp():
            yield [(node, script.text(node.operand))]
        case ast.AugAssign():
            yield [(node, f"{script.text(node.target)} = {script.text(node.value)}")]


def number(node: ast.AST, script: _Script) -> Iterator[Edit]:
    """A number is one more or one less; a boolean is flipped."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield [(node, str(not node.value))]
        elif isinstance(node.value, int | float):
            yield from ([(node, str(node.value + step))] for step in (1, -1))


def place(node: ast.AST, script: _Script) -> Iterator[Edit]:
    """An index is off by one; a bound of a slice is left out, or off by one."""
    if isinstance(node, ast.Slice):
        for bound in filter(None, (node.lower, node.upper, node.step)):
            yield from ([(bound, "")], [(bound, f"({script.text(bound)}) + 1")])
    elif isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice | ast.Constant):
        yield [(node.slice, f"{script.text(node.slice)} - 1")]


def call(node: ast.AST, script: _Script) -> Iterator[Edit]:
    """A call returns its input; two arguments change places, or a keyword argument is left out."""
    if not isinstance(node, ast.Call):
        return
    match node.func:
        case ast.Attribute(value=ast.Name(id=name)) if name in script.modules:
            pass
        case ast.Attribute(value=receiver):
            yield [(node, script.text(receiver))]
    if node.args and not isinstance(node.args[0], ast.Starred | ast.GeneratorExp):
        yield [(node, f"({script.text(node.args[0])})")]
    for one, other in pairwise(node.args if _name_of(node) not in SYMMETRIC else []):
        yield [(one, script.text(other)), (other, script.text(one))]
    for keyword in node.keywords:
        if keyword.arg == "strict":
            continue
        rest = [script.text(a) for a in (*node.args, *node.keywords) if a is not keyword]
        yield [(node, f"{script.text(node.func)}({', '.join(rest)})")]


def argument_ignored(node: ast.AST, script: _Script) -> Iterator[Edit]:
    """A number that the function is given is replaced by a constant."""
    if isinstance(node, ast.Name) and script.types.get(node.id) in CONSTANTS:
        yield [(node, CONSTANTS[script.types[node.id]])]


def result_ignored(node: ast.AST, script: _Script) -> Iterator[Edit]:
    """One of several results is ignored."""
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Store):
        yield from ([(part, "_")] for part in node.elts if isinstance(part, ast.Name))


def other_name(node: ast.AST, script: _Script) -> Iterator[Edit]:
    """Two similar names are mixed up, such as rank and world size, or left and right."""
    is_attribute = isinstance(node, ast.Attribute)
    name = node.attr if is_attribute else getattr(node, "id", None)
    for twins in TWINS:
        if name in twins:
            other = twins[twins[0] == name]
            yield [(node, f"{script.text(node.value)}.{other}" if is_attribute else other)]


def round_left_out(node: ast.AST, script: _Script) -> Iterator[Edit]:
    """A loop skips its first or last round, or ends after the first; a filter passes everything."""
    if isinstance(node, ast.For):
        last, items = node.body[-1], script.text(node.iter)
        yield [(last, f"{script.text(last)}\n{' ' * last.col_offset}break")]
        yield from ([(node.iter, f"list({items}){cut}")] for cut in ("[1:]", "[:-1]"))
    for part in getattr(node, "generators", []):
        yield from ([(part.iter, f"list({script.text(part.iter)}){cut}")] for cut in ("[1:]",))
        yield from ([(condition, "True")] for condition in part.ifs)


def context_left_out(node: ast.AST, script: _Script) -> Iterator[Edit]:
    """A block runs without its `with`."""
    if isinstance(node, ast.With):
        nothing = '__import__("contextlib").nullcontext()'
        yield from ([(item.context_expr, nothing)] for item in node.items)


KINDS = (
    *(statement_left_out, statement_twice, statements_swapped, branch, comparison, part_left_out),
    *(number, place, call, argument_ignored, result_ignored, other_name, round_left_out),
    context_left_out,
)
