"""Check one exercise in a separate process, or a folder of scripts in this one."""

import hashlib
import json
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from course.checks.runner.catalogue import CHECKS, node_of
from course.core import CourseError
from course.exercises import Report
from course.launch import Watch, launch

SESSION = Path(__file__).with_name("session.py")
LIMIT_S = 3600.0  # of all checks of an exercise together; each also has its own limit


def check(
    name: str,
    src: str = "src",
    isolated: bool = False,
    thorough: bool = False,
    limit: float = LIMIT_S,
    watch: Watch = lambda run, event: None,
    stop: threading.Event | None = None,
) -> Report:
    """Check one exercise in a separate process; `isolated` runs the learner's code in a sandbox.

    If `thorough`, the checks continue however often the ranks hang. After `limit` seconds the
    report has the results so far. `watch` is called with the process and each of its events; a
    `Progress` event names the running check. Raises `Interrupted` at an interrupt, or when another
    thread sets `stop`. Raises `CourseError` for an unknown name, and if the checks wrote no report.
    """
    node_of(name)
    with tempfile.TemporaryDirectory(prefix="course-check-") as folder:
        path = Path(folder) / "report.json"
        options = [
            *(["--isolated"] if isolated else []),
            *(["--thorough"] if thorough else []),
        ]
        words = ["python", str(SESSION), *options, str(path), src, name]
        run = launch(words, limit=limit, watch=watch, stop=stop)
        # Otherwise the logs of checks would crowd out those of the learner's own runs.
        shutil.rmtree(run.log_dir, ignore_errors=True)
        if not path.is_file():
            raise CourseError(
                f"The checks of {name} did not end: {run.text(0)[-500:] or run.reason}"
            )
        return Report.from_dict(json.loads(path.read_text(encoding="utf-8")))


def check_folder(
    src: Path,
    names: Sequence[str] = (),
    isolated: bool = False,
    announce: Callable[[str], None] = lambda text: None,
) -> list[Report]:
    """Check the scripts in `src` for the exercises `names` (all if empty), in this process.

    `isolated` runs the learner's code in a sandbox; `announce` is called with a line for each check
    when it begins. After an interrupt the reports have the results so far. Raises `CourseError` for
    an unknown name, and if this machine cannot isolate.
    """
    from course.checks.runner import session  # imports pytest, which is slow

    return session.run(src, names, isolated=isolated, announce=announce)


def digest() -> str:
    """The SHA-256 digest of the code of all checks, since a verdict is valid only for that code."""
    code = hashlib.sha256()
    for path in sorted(CHECKS.rglob("*.py")):
        code.update(path.read_bytes())
    return code.hexdigest()
