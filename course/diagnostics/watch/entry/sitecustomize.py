"""Python imports a module of this name at each start, from the first folder that has one.

`PYTHONPATH` begins with this folder for a command that is watched, so every Python process of the
command comes through here, whatever starts it. An own ``sitecustomize`` of the environment is
imported after it (https://docs.python.org/3/library/site.html).
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
    """Import the module of this name that Python would have found without ours."""
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
