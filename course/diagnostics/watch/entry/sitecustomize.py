"""Begin to watch this process: Python imports a module of this name whenever it starts.

It takes the first one on its path (https://docs.python.org/3/library/site.html). `PYTHONPATH`
begins with this folder in a watched command, so every Python process of the command runs this file,
whatever starts the process. If the environment has a ``sitecustomize`` of its own, that is imported
next.
"""

import os
import sys


def _watch(folder: str) -> None:
    """Watch this process; a failure of ours never reaches the script."""
    root = os.path.abspath(os.path.join(folder, *[os.pardir] * 4))
    before = list(sys.path)
    sys.path.append(root)  # the course need not be installed in this environment
    try:
        from course.diagnostics.watch import process

        process.begin()
    except Exception as error:
        if os.environ.get("COURSE_WATCH_DEBUG"):
            raise RuntimeError("the course cannot watch this process") from error
    finally:
        sys.path[:] = before


def _next() -> None:
    """Import the ``sitecustomize`` that Python would have found without ours."""
    ours = sys.modules.pop("sitecustomize")
    try:
        # The environment's own, now that ours is off the path.
        import sitecustomize  # noqa: F401  # pyrefly: ignore[missing-import]
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", ours)


_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _here]
_watch(_here)
_next()
