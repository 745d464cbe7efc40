"""Run the checks of some exercises under pytest and collect the verdicts.

python session.py [--isolated] [--thorough] REPORT SRC NAME    keeps the verdict in REPORT as JSON
"""

import argparse
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from course.checks.runner.catalogue import CHECKS, node_of
from course.checks.runner.on_ranks import (
    LIMIT_S,
    MOST_RANKS,
    CheckRanks,
    await_warm_ranks,
    new_folder,
)
from course.checks.runner.outcomes import Deadlock, Unwritten, hint_fits, outcome
from course.checks.tools.hint import Undecided
from course.core import CourseError, read_script, todo, write_atomically
from course.exercises import Outcome, Report, Result, exercise, exercises
from course.hardware import isolation
from course.launch import Sandbox

PRINTED_LINES = 10  # of a failed check, the last ones
LONGEST = 2000  # characters of a message
HANGS = 3  # after this many, the remaining checks of an exercise are skipped
AFTER_A_HANG_S = 10.0  # the limit of the checks that follow a hang
ENDED_ITSELF = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)

Save = Callable[[Report], None]


class ChecksPlugin:
    """The pytest plugin that gives checks their ranks and keeps their results.

    After a hang, the remaining checks of the exercise have less time. After `HANGS` hangs they are
    skipped, unless the session is `thorough`.
    """

    def __init__(
        self,
        src: Path,
        limit: float | None,
        isolated: bool,
        thorough: bool,
        announce: Callable[[str], None],
        save: Save,
    ) -> None:
        self._src, self._limit, self._isolated, self._thorough = src, limit, isolated, thorough
        self._announce, self._save = announce, save
        self._items: list[pytest.Item] = []
        self._results: dict[str, list[Result]] = {}
        self._hangs: Counter[str] = Counter()
        self._printed: dict[str, None] = {}  # an ordered set of lines

    @property
    def reports(self) -> list[Report]:
        """The verdict so far on each requested exercise."""
        return [self._report(name) for name in dict.fromkeys(map(_exercise, self._items))]

    def _report(self, name: str) -> Report:
        items = [item for item in self._items if _exercise(item) == name]
        results = self._results.get(name, [])
        unjudged = map(_unjudged, items[len(results) :])
        return Report(name, [item.originalname for item in items], [*results, *unjudged])

    @pytest.fixture(scope="module")
    def sandbox(self) -> Iterator[Sandbox | None]:
        """The sandbox of an exercise's ranks, or None if they run on this machine itself."""
        if self._isolated:
            with Sandbox.around(self._src, MOST_RANKS) as sandbox:
                yield sandbox
        else:
            yield None

    @pytest.fixture
    def ranks(self, sandbox: Sandbox | None, request: pytest.FixtureRequest) -> Callable:
        """`CheckRanks.call` with the learner's folder first on the import path."""
        await_warm_ranks(sandbox)
        ranks = CheckRanks(self._src, sandbox, self._keep_line)
        hung = self._hangs[_exercise(request.node)]
        longest_s = self._limit or (AFTER_A_HANG_S if hung else math.inf)

        def call_ranks(*args: Any, limit: float = LIMIT_S, **kwargs: Any) -> list[Any]:
            return ranks.call(*args, limit=min(limit, longest_s), **kwargs)

        return call_ranks

    @pytest.fixture
    def alone(self, ranks: Callable) -> Callable:
        """Call a function on one rank that joins no group; return its result, not a list."""
        return lambda function, *args, **kwargs: ranks(1, function, *args, alone=True, **kwargs)[0]

    @pytest.fixture
    def tmp_path(self, request: pytest.FixtureRequest) -> Path:
        """A new folder that the ranks can use: pytest's own, or one inside the sandbox."""
        if self._isolated:
            return Path(request.getfixturevalue("alone")(new_folder))
        return request.getfixturevalue("tmp_path_factory").mktemp("ranks")

    def _place(self, item: pytest.Item) -> str:
        """The check's number in its exercise, and the exercise's number if there are several."""
        name, names = _exercise(item), list(dict.fromkeys(map(_exercise, self._items)))
        items = [other for other in self._items if _exercise(other) == name]
        which = f" (exercise {names.index(name) + 1} of {len(names)})" if len(names) > 1 else ""
        return f"{name}{which}: check {items.index(item) + 1} of {len(items)}"

    def _keep_line(self, rank: int, line: str) -> None:
        self._printed[f"rank {rank} │ {_printable(line)}"] = None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep the collected checks, and save a report that has none of them judged yet."""
        self._items = session.items
        for report in self.reports:
            self._save(report)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip a check if its script is not written yet, or if its exercise hung too often."""
        name = _exercise(item)
        self._announce(f"{self._place(item)}: {_claim(item)}")
        self._printed.clear()
        script = self._src / f"{name}.py"
        if not script.is_file():
            raise Unwritten(f"{script} is not there yet: run the cell that writes it")
        todos = todo.open_todos(script)
        if todos and exercise(name).is_blank(read_script(script)):
            raise Unwritten(todo.in_sentences(todos))
        if self._hangs[name] >= HANGS and not self._thorough:
            raise Undecided(f"not run, since the ranks hung in {HANGS} checks before it")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo
    ) -> pytest.TestReport:
        """Save the result of a check after its call, or after a phase that failed."""
        report = yield
        error = call.excinfo.value if call.excinfo else None
        name = _exercise(item)
        self._hangs[name] += isinstance(error, Deadlock)
        if call.when == "call" or error is not None:
            self._results.setdefault(name, []).append(self._result(item, error))
            self._save(self._report(name))
        return report

    def _result(self, item: pytest.Item, error: BaseException | None) -> Result:
        result, message, again = outcome(error)
        hint = getattr(error, "hint", item.function.hint) if hint_fits(error) else ""
        printed = [] if result == Outcome.PASSED else list(self._printed)[-PRINTED_LINES:]
        return Result(
            check=item.originalname,
            claim=_claim(item),
            outcome=result,
            message=_printable(message[:LONGEST]),
            hint=hint,
            printed="\n".join(printed),
            again=again,
        )


def _exercise(item: pytest.Item) -> str:
    return item.path.stem


def _claim(item: pytest.Item) -> str:
    """The docstring of a check, which says what is true if it passes."""
    return " ".join(item.function.__doc__.split())


def _unjudged(item: pytest.Item) -> Result:
    """The result of a check that has not run; it stays if the checks end early."""
    why = "the checks ended before this one"
    return Result(item.originalname, _claim(item), Outcome.NOT_JUDGED, why, again=True)


def _printable(text: str) -> str:
    """Replace characters in a learner's text that would move a terminal's cursor or break XML."""
    return "".join(char if char.isprintable() or char in "\n\t" else "�" for char in text)


def run(
    src: Path,
    names: Sequence[str],
    limit: float | None = None,
    only: str = "",
    isolated: bool = False,
    thorough: bool = True,
    announce: Callable[[str], None] = lambda text: None,
    save: Save = lambda report: None,
) -> list[Report]:
    """Check the scripts in `src` for the exercises `names` (all if empty).

    Two arguments are for tests and tools: after `limit` seconds, ranks count as deadlocked, and
    `only` selects the checks with that name.
    `isolated` runs the learner's code in a sandbox. A `thorough` session continues however often
    the ranks hang. `announce` is called with a line for each check when it begins, and `save` with
    the verdict so far when it ends. After an interrupt, the reports have the results so far. Raises
    `CourseError` if this machine cannot isolate, and if checks are broken.
    """
    if isolated:
        isolation.require()
    plugin = ChecksPlugin(Path(src).resolve(), limit, isolated, thorough, announce, save)
    nodes = [node_of(name) for name in names or exercises()]
    unused = ("cacheprovider", "terminal", "unraisableexception")
    options = ["--disable-plugin-autoload", *(f"-pno:{name}" for name in unused)]
    options += ["-c", str(Path(__file__).with_name("pytest.ini")), "--rootdir", str(CHECKS)]
    if only:
        nodes = [f"{node}::{only}" for node in nodes]
    code = pytest.main([*options, *nodes], plugins=[plugin])
    if code not in ENDED_ITSELF:
        raise CourseError(
            f"The checks of {', '.join(names) or 'all exercises'} could not be run "
            f"(pytest says {code})."
        )
    return plugin.reports


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--isolated", action="store_true")
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("report", type=Path)
    parser.add_argument("src", type=Path)
    parser.add_argument("name")
    args = parser.parse_args()
    run(
        args.src,
        [args.name],
        isolated=args.isolated,
        thorough=args.thorough,
        announce=lambda text: print(f"\r{text}", end="", flush=True),
        save=lambda report: write_atomically(args.report, json.dumps(report.as_dict())),
    )
