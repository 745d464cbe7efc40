"""In the process that forks: import a script's libraries once for all its rehearsals."""

import ast
import contextlib
import gc
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from course.core import user_files
from course.diagnostics.fit import values
from course.pretended import pretend_torch_cuda


def load(script: str) -> None:
    """Run the imports of libraries at the script's top level.

    GPUs are pretended from now on, because libraries look for them when they are imported. If an
    import fails, it is left to the script, which then fails by itself.
    """
    pretend_torch_cuda(1)
    values.mode()  # the first one makes torch import its compiler, which takes seconds
    with contextlib.suppress(Exception, SystemExit), contextlib.redirect_stdout(sys.stderr):
        for statement in ast.parse(Path(script).read_bytes()).body:
            if _is_of_library(statement, [str(Path(script).resolve().parent), *sys.path]):
                exec(compile(ast.Module([statement], []), script, "exec"), {})
    gc.freeze()  # or each garbage collection in a fork would go through all of this


def _is_of_library(statement: ast.stmt, path: list[str]) -> bool:
    """Whether a statement imports modules, and none of them is the user's own."""
    if isinstance(statement, ast.ImportFrom):
        names = [statement.module or ""]
    elif isinstance(statement, ast.Import):
        names = [alias.name for alias in statement.names]
    else:
        return False
    specs = [PathFinder.find_spec(name.partition(".")[0], path) for name in names]
    return all(spec and spec.origin and not user_files.is_users(spec.origin) for spec in specs)
