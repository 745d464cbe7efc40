"""The plausible wrong answers to the exercises, and the verdicts of the checks on them.

A mutant is the solved script with one change. The check that names its fault must reject it.
"""

import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from course.checks.runner import session
from course.checks.runner.catalogue import node_of, nodes
from course.exercises import Result
from support import answers, solutions
from support.answers import Answer
from support.patience import PATIENCE_S

FILES = sorted((Path(__file__).parents[1] / "mutants").glob("*.md"))
HANG_S = 3.0  # for a mutant that is known to hang


@cache
def checks_of(exercise: str) -> dict[str, Callable]:
    """The checks of an exercise, by name."""
    path, _, name = node_of(exercise).partition("::")
    module = f"course.checks.{Path(path).parent.name}.{Path(path).stem}"
    checks = getattr(importlib.import_module(module), name)
    return {check: getattr(checks, check) for check in dir(checks) if check.startswith("test_")}


def read(path: Path) -> list[Answer]:
    """The mutants of one lab; `path` is one of `FILES`."""
    lab = "lab_" + path.stem.partition("_")[0]
    names = [name for name, node in nodes().items() if Path(node).parent.name == lab]
    return answers.read(path, {name: set(checks_of(name)) for name in names})


def verdict(mutant: Answer, folder: Path) -> Result:
    """The result of the check that must reject the mutant."""
    solutions.write(mutant.lab, folder)
    script = f"{mutant.exercise}.py"
    (folder / script).write_text(mutant.script(solutions.scripts(mutant.lab)[script]))
    limit = HANG_S if mutant.hangs else PATIENCE_S
    while True:
        (report,) = session.run(folder, [mutant.exercise], limit=limit, only=mutant.check)
        (result,) = report.results
        if not result.again or limit > PATIENCE_S:
            return result
        limit *= 2  # the ranks had not reached the mutant's code yet
