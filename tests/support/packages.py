"""The packages of the course as CONTRIBUTING.md lists them, and what its code imports."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from course.core.files import ROOT

COURSE = ROOT / "course"
LINE = re.compile(
    r"^(?P<indent> *)(?P<name>[\w.]+)(?P<folder>/?)(?P<star> \*)?(?:  +(?P<job>.+))?$"
)


def _tree(folder: str) -> list[re.Match]:
    """The lines of the tree of a folder."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    block = re.search(r"```\n(course/\n.*?)```", text, re.DOTALL)[1]
    lines = re.search(rf"^{folder}/\n((?: .*\n)+)", block, re.MULTILINE)[1]
    return [LINE.match(line) for line in lines.splitlines()]


@dataclass(frozen=True)
class Package:
    """A line of the tree; `name` is as in the folder, `inside` the package that contains it."""

    name: str
    job: str
    inside: str | None
    is_public: bool

    @property
    def module(self) -> str:
        """What an import names, such as ``course.launch``."""
        path = [part for part in (self.inside, self.name.removesuffix(".py")) if part]
        return ".".join(["course", *path]).removesuffix(".__init__")


def packages(folder: str = "course") -> list[Package]:
    """The packages of the tree from the top, each followed by its subpackages."""
    names, outer = [], None
    for line in _tree(folder):
        inner = len(line["indent"]) > 4
        outer = outer if inner else line["name"]
        is_public = bool(line["star"]) or not inner
        names.append(Package(line["name"], line["job"] or "", outer if inner else None, is_public))
    return names


PATHS = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(COURSE.rglob("*.py"))
}
ORDER = [package.module for package in packages() if package.inside is None]
PUBLIC = {package.module for package in packages() if package.is_public}
PUBLIC |= {name for name in PATHS if name.startswith("course.given.") and name.count(".") == 2}


def package_of(module: str) -> str:
    """The package that contains a module, such as ``course.launch``."""
    return ".".join(module.split(".")[:2])


@dataclass(frozen=True)
class Import:
    """``from origin import name``, or ``import origin`` if the name is None."""

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
    def is_public(self) -> bool:
        """Whether another package may import like this: see "Public names" in CONTRIBUTING.md."""
        if self.origin not in PUBLIC:
            return False
        if self.name is None or self.name in public_names(self.origin):
            return True
        if self.module == self.origin:  # the name is not public
            return PATHS[self.origin].name != "__init__.py"
        return self.module in PUBLIC or PATHS[self.module].name != "__init__.py"


def public_names(module: str) -> list[str]:
    """The public names of a package: its ``__all__``."""
    for node in ast.parse(PATHS[module].read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    return []


def imports(source: str) -> Iterator[Import]:
    """Yield what Python code imports from the course, anywhere in the code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            entries = [Import(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import, which this test does not follow"
            entries = [Import(node.module, alias.name) for alias in node.names]
        else:
            continue
        yield from (entry for entry in entries if entry.origin.split(".")[0] == "course")
