"""The scripts of the lessons as programs: a script, and the scripts next to it that it imports."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from course.core.files import ROOT
from support import solutions

LAUNCHERS = ("torchrun", "accelerate launch")  # not srun: with it, Slurm deals out the GPUs
GIVEN = ROOT / "course" / "given"
# Its code for Horovod joins a group on behalf of the scripts that import it.
HOROVOD = {
    f"course/given/horovod/{path.name}": path.read_text()
    for path in sorted((GIVEN / "horovod").glob("*.py"))
}


class File:
    """A parsed script: its `nodes`, each with its `parent`, and the values `assigned` to names."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text
        self.nodes = list(ast.walk(ast.parse(text)))
        self.assigned: dict[str, list[ast.AST]] = {}  # by name, anywhere in the script
        for node in self.nodes:
            for child in ast.iter_child_nodes(node):
                child.parent = node
            if isinstance(node, ast.Assign):
                for name_ in set().union(*map(names_in, node.targets)):
                    self.assigned.setdefault(name_, []).append(node.value)

    def calls(self, *names: str) -> list[ast.Call]:
        """The calls of functions and methods with these names, from the top of the script."""
        calls_ = [
            node
            for node in self.nodes
            if isinstance(node, ast.Call) and last_name(node.func) in names
        ]
        return sorted(calls_, key=lambda call: (call.lineno, call.col_offset))

    def meaning(self, node: ast.AST) -> str:
        """The code of an expression, and of everything that the script assigns to its names."""
        values, todo, seen = [], [node], set()
        while todo:
            values.append(ast.unparse(expression := todo.pop()))
            new = names_in(expression) - seen
            seen |= new
            todo += [value for name in sorted(new) for value in self.assigned.get(name, [])]
        return "\n".join(values)

    @cached_property
    def nccl(self) -> list[ast.Constant]:
        """The places that request NCCL by name; a comparison with the name is not a request."""
        return [
            node
            for node in self.nodes
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value in ("nccl", "cpu:gloo,cuda:nccl")
            and not isinstance(node.parent, ast.Compare)
        ]

    @cached_property
    def imported(self) -> set[str]:
        """The modules that it imports, anywhere in the script."""
        whole = {a.name for n in self.nodes if isinstance(n, ast.Import) for a in n.names}
        parts = [node for node in self.nodes if isinstance(node, ast.ImportFrom)]
        names = {f"{node.module}.{alias.name}" for node in parts for alias in node.names}
        return whole | names | {node.module for node in parts}


@dataclass(frozen=True)
class Program:
    """A script, `files[0]`, and all scripts that it imports from its folder or `course.given`.

    A `library` joins no group, and no script in its folder imports it: its functions may be used
    by any program, and so with any backend.
    """

    files: tuple[File, ...]
    library: bool

    @classmethod
    def of(cls, name: str, scripts: Mapping[str, str]) -> "Program":
        """The program of the script of this name; `scripts` are all scripts in its folder."""
        files, todo = {name: parsed(name, scripts[name])}, [name]
        while todo:
            for module in sorted(files[todo.pop()].imported):
                other = f"{module.replace('.', '/')}.py"
                text = scripts.get(other) or given_text(other)
                if text and other not in files:
                    files[other] = parsed(other, text)
                    todo.append(other)
        if any("course.given.horovod" in file.imported for file in files.values()):
            files |= {other: parsed(other, text) for other, text in HOROVOD.items()}
        joins = any(file.calls("init_process_group") for file in files.values())
        module = name.removesuffix(".py")
        is_imported = any(module in parsed(other, text).imported for other, text in scripts.items())
        return cls(tuple(files.values()), not joins and not is_imported)

    @property
    def launched(self) -> bool:
        """Whether a launcher starts it, according to the commands in its docstring."""
        return any(word in (ast.get_docstring(self.files[0].nodes[0]) or "") for word in LAUNCHERS)

    @property
    def may_use_nccl(self) -> bool:
        """Whether one of its groups may use NCCL, by the script alone if that requests Gloo."""
        main, *_ = self.files
        if any("'gloo'" in ast.unparse(call) for call in main.calls("init_process_group")):
            return bool(main.nccl)
        return self.library or any(file.nccl for file in self.files)

    def calls(self, *names: str) -> Iterator[tuple[File, ast.Call]]:
        """The calls of functions and methods with these names in all its files."""
        for file in self.files:
            yield from ((file, call) for call in file.calls(*names))


def last_name(function: ast.AST) -> str:
    """The name of a called function, without its module or object."""
    return getattr(function, "attr", "") or getattr(function, "id", "")


def names_in(node: ast.AST) -> set[str]:
    """The plain names in an expression."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def enclosing(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the node and all nodes enclosing it, from the inside out."""
    while node is not None:
        yield node
        node = getattr(node, "parent", None)


@cache
def given_text(name: str) -> str:
    """The text of a file of `course.given`; "" if there is no file of that name."""
    path = ROOT / name
    return path.read_text() if path.parent == GIVEN and path.is_file() else ""


@cache
def parsed(name: str, text: str) -> File:
    """A parsed script, cached because several programs share it."""
    return File(name, text)


@cache
def programs() -> dict[str, Program]:
    """Every script of every lesson as a program, by lesson and name."""
    return {
        f"{lesson.stem}/{name}": Program.of(name, solutions.scripts(lesson.stem))
        for lesson in sorted(solutions.LESSONS.glob("[0-9]*.md"))
        for name in solutions.scripts(lesson.stem)
    }
