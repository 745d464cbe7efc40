"""Find the lines of a script that a teacher should read before trusting its verdict.

No script needs such lines to solve an exercise. They do not prove that it cheats, and their absence
does not prove that it is honest.
"""

import ast
from collections.abc import Iterator

LIBRARIES = ("builtins", "course", "math", "numpy", "pytest", "sys", "torch", "unittest")
# Attributes of libraries that are there to be set.
SETTINGS = ("torch.backends.", "torch._dynamo.config.", "torch._inductor.config.")
PROCESSES = ("/proc/self", "/proc/1")  # and the beginning of `f"/proc/{pid}"`
FRAMES = ("tb_frame", "f_back", "f_locals", "f_globals", "gi_frame", "cr_frame", "_getframe")
FRAMES += ("currentframe", "getouterframes", "getinnerframes")
INTERNALS = ("__closure__", "cell_contents", "__globals__", "__code__", "__subclasses__")
MODULES = ("gc", "ctypes", "inspect", "course.checks", "__main__")
CALLS = ("eval", "exec")


def suspicions(source: str) -> list[str]:
    """A sentence for each line that changes a library or reaches beyond the script."""
    try:
        tree = ast.parse(source)
    except (MemoryError, RecursionError, SyntaxError, ValueError):
        return []  # it cannot run, either
    names = _imported(tree)
    places = {(node.lineno, reason) for node, reason in _suspicious_nodes(tree, names)}
    return [f"Line {line} {reason}." for line, reason in sorted(places)]


def _imported(tree: ast.AST) -> dict[str, str]:
    """Map each name that the script imports to the module or member that it stands for."""
    names = {"__builtins__": "builtins"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                full_name = alias.name if alias.asname else alias.name.partition(".")[0]
                names[alias.asname or full_name] = full_name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _suspicious_nodes(tree: ast.AST, names: dict[str, str]) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()) if path := _library(node, names):
                yield node, f"replaces `{path}`"
            case ast.Call(func=ast.Name("setattr" | "delattr"), args=[home, *_]) if path := (
                _library(home, names)
            ):
                yield node, f"changes `{path}` by `{node.func.id}`"
            case ast.Attribute(attr="__dict__", value=home) if path := _library(home, names):
                yield node, f"reaches into `{path}`"
            case ast.Attribute(attr=name) if name in FRAMES:
                yield node, f"looks at the variables of its callers, by `{name}`"
            case ast.Attribute(attr=name) if name in INTERNALS:
                yield node, f"looks into a function or class, by `{name}`"
            case ast.Call(func=ast.Name(name)) if name in CALLS:
                yield node, f"runs code that is not written there, by `{name}`"
            case ast.Constant(value=str(text)) if text.startswith(PROCESSES) or text in (
                "/proc",
                "/proc/",
            ):
                yield node, "reads about processes, in `/proc`"
            case ast.Import(names=modules):
                for alias in modules:
                    if _is_suspicious_module(alias.name):
                        yield node, f"imports `{alias.name}`"
            case ast.ImportFrom(module=str(module), names=members):
                imported = [module, *(f"{module}.{member.name}" for member in members)]
                if found := next(filter(_is_suspicious_module, imported), ""):
                    yield node, f"imports `{found}`"


def _is_suspicious_module(name: str) -> bool:
    """Whether a module is in `MODULES`, or inside one of them."""
    return any(f"{name}.".startswith(f"{module}.") for module in MODULES)


def _library(node: ast.AST, names: dict[str, str]) -> str:
    """The full name of a library or its attribute; "" for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return ""
    path = ".".join([names[node.id], *reversed(parts)])
    library = path.partition(".")[0] in LIBRARIES and not path.startswith(SETTINGS)
    return path if library else ""
