"""In the process that forks: the libraries that a script imports, once for all its rehearsals."""

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
    """Import from libraries what the script imports at its top level.

    GPUs are pretended from now on, because libraries look for them when they are imported. What
    cannot be imported is left to the script, which then fails by itself.
    """
    pretend_torch_cuda(1)
    values.mode()  # torch imports its compiler for the first one, which takes seconds
    with contextlib.suppress(Exception, SystemExit), contextlib.redirect_stdout(sys.stderr):
        for statement in ast.parse(Path(script).read_bytes()).body:
            if _is_of_library(statement, [str(Path(script).resolve().parent), *sys.path]):
                exec(compile(ast.Module([statement], []), script, "exec"), {})
    gc.freeze()  # or each garbage collection of a fork would look at all of it


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
