"""The rooms of the course as CONTRIBUTING.md lists them, and what its code imports."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from course.core.files import ROOT

COURSE = ROOT / "course"
LINE = re.compile(
    r"^(?P<indent> *)(?P<name>[\w.]+)(?P<folder>/?)(?P<face> \*)?(?:  +(?P<job>.+))?$"
)


def _tree(folder: str) -> list[re.Match]:
    """The lines of the tree of a folder."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    block = re.search(r"```\n(course/\n.*?)```", text, re.DOTALL)[1]
    lines = re.search(rf"^{folder}/\n((?: .*\n)+)", block, re.MULTILINE)[1]
    return [LINE.match(line) for line in lines.splitlines()]


@dataclass(frozen=True)
class Room:
    """A line of the tree: `name` as in the folder, `inside` the room it lies in."""

    name: str
    job: str
    inside: str | None
    has_face: bool

    @property
    def module(self) -> str:
        """What an import names, such as ``course.launch``."""
        path = [part for part in (self.inside, self.name.removesuffix(".py")) if part]
        return ".".join(["course", *path]).removesuffix(".__init__")


def rooms(folder: str = "course") -> list[Room]:
    """The rooms of the tree from the top, each followed by its sub-rooms."""
    names, outer = [], None
    for line in _tree(folder):
        inner = len(line["indent"]) > 4
        outer = outer if inner else line["name"]
        face = bool(line["face"]) or not inner
        names.append(Room(line["name"], line["job"] or "", outer if inner else None, face))
    return names


PATHS = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(COURSE.rglob("*.py"))
}
ORDER = [room.module for room in rooms() if room.inside is None]
DOORS = {room.module for room in rooms() if room.has_face}
DOORS |= {name for name in PATHS if name.startswith("course.given.") and name.count(".") == 2}


def room_of(module: str) -> str:
    """The room, as ``course.launch``, in which a module lies."""
    return ".".join(module.split(".")[:2])


@dataclass(frozen=True)
class Import:
    """``from origin import name``, or ``import origin`` where the name is None."""

    origin: str
    name: str | None

    def __str__(self) -> str:
        return f"from {self.origin} import {self.name}" if self.name else f"import {self.origin}"

    @property
    def module(self) -> str:
        """The module that is imported, or that holds the name."""
        inner = f"{self.origin}.{self.name}"
        return inner if inner in PATHS else self.origin

    @property
    def through_a_door(self) -> bool:
        """Whether another room may import like this: see "A room has a face" in CONTRIBUTING.md."""
        if self.origin not in DOORS:
            return False
        if self.name is None or self.name in face(self.origin):
            return True
        if self.module == self.origin:  # a name that the face does not show
            return PATHS[self.origin].name != "__init__.py"
        return self.module in DOORS or PATHS[self.module].name != "__init__.py"


def face(module: str) -> list[str]:
    """What a room shows: its ``__all__``."""
    for node in ast.parse(PATHS[module].read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    return []


def imports(source: str) -> Iterator[Import]:
    """What Python code imports from the course, wherever in the code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            entries = [Import(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import, which this test does not follow"
            entries = [Import(node.module, alias.name) for alias in node.names]
        else:
            continue
        yield from (entry for entry in entries if entry.origin.split(".")[0] == "course")
