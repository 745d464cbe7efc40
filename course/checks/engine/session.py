"""Run the checks of some exercises under pytest and collect what holds and what does not.

python session.py [--isolated] REPORT SRC NAME...        writes the results to REPORT as JSON
"""

import argparse
import functools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from course.checks.engine.catalogue import exercises, node_of
from course.checks.engine.on_ranks import (
    MOST_RANKS,
    Deadlock,
    NotJudged,
    Rejected,
    Unwritten,
    await_warm_ranks,
    new_folder,
    on_ranks,
)
from course.core import CourseError, todo
from course.hardware import bubblewrap
from course.launch import Sandbox

CHECKS = Path(__file__).parents[1]
LESSONS = CHECKS.parent / "lessons"
PASSED, FAILED, OPEN, NOT_RUN = "passed", "failed", "open", "not run"
PRINTED_LINES = 10  # of a failed check, the last ones


@dataclass(frozen=True)
class Result:
    """What became of one check.

    `claim` says what holds when it passes; `message` and `hint` are for when it does not, and
    `printed` is what the learner's code wrote meanwhile, each line with its rank.
    """

    exercise: str
    check: str
    claim: str
    outcome: str
    message: str = ""
    hint: str = ""
    printed: str = ""


class Session:
    """The pytest plugin that gives checks their ranks and keeps their results.

    After the first deadlock of an exercise its other checks are not run.
    """

    def __init__(
        self, src: Path, limit: float | None, isolated: bool, begun: Callable[[str], None]
    ) -> None:
        self.results: list[Result] = []
        self._src, self._isolated, self._begun = src, isolated, begun
        self._checks: list[pytest.Item] = []
        self._options = {"limit": limit} if limit else {}
        self._stuck: set[str] = set()
        self._printed: dict[str, None] = {}  # lines in order, each once

    @pytest.fixture(scope="module")
    def sandbox(self) -> Iterator[Sandbox | None]:
        """Where the ranks of an exercise run, None if that is this machine itself."""
        if self._isolated:
            with Sandbox.around(self._src, MOST_RANKS) as sandbox:
                yield sandbox
        else:
            yield None

    @pytest.fixture
    def ranks(self, sandbox: Sandbox | None) -> Callable:
        """`on_ranks` with the learner's folder first on the import path."""
        await_warm_ranks(sandbox)
        options = {"src": self._src, "printed": self._heard, "sandbox": sandbox}
        return functools.partial(on_ranks, **options, **self._options)

    @pytest.fixture
    def alone(self, ranks: Callable) -> Callable:
        """Call a function on one rank that joins no group; the result is its own, not a list."""
        return lambda function, *args, **kwargs: ranks(1, function, *args, join=False, **kwargs)[0]

    @pytest.fixture
    def tmp_path(self, request: pytest.FixtureRequest) -> Path:
        """A new folder that the ranks find: pytest's own, or one inside."""
        if self._isolated:
            return Path(request.getfixturevalue("alone")(new_folder))
        return request.getfixturevalue("tmp_path_factory").mktemp("ranks")

    def _heard(self, rank: int, line: str) -> None:
        self._printed[f"rank {rank} │ {_visible(line)}"] = None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """When all checks are known."""
        self._checks = session.items

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Before a check: is its script there, and has the exercise not hung already?"""
        number, of = self._checks.index(item) + 1, len(self._checks)
        self._begun(f"{item.path.stem}: check {number} of {of}: {_claim(item)}")
        self._printed.clear()
        name = item.path.stem
        script = self._src / f"{name}.py"
        if not script.is_file():
            raise Unwritten(f"{script} is not there yet: run the cell that writes it")
        todos = todo.open_todos(script)
        if todos and script.read_text() == as_handed_out(
            item.path.parent.name.removeprefix("lab_"), script.name
        ):
            raise Unwritten(todo.in_sentences(todos))
        if name in self._stuck:
            raise NotRun("not run, since the ranks hung in a check before it")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo
    ) -> pytest.TestReport:
        """After each phase of a check: keep the result."""
        report = yield
        error = call.excinfo.value if call.excinfo else None
        if isinstance(error, Deadlock):
            self._stuck.add(item.path.stem)
        if call.when == "call" or error is not None:
            outcome, message = _outcome(error)
            hint = item.function.hint if _found_by_the_check(error) else ""
            printed = "" if outcome == PASSED else "\n".join(list(self._printed)[-PRINTED_LINES:])
            self.results.append(
                Result(
                    exercise=item.path.stem,
                    check=item.originalname,
                    claim=_claim(item),
                    outcome=outcome,
                    message=_visible(message),
                    hint=hint,
                    printed=printed,
                )
            )
        return report


@functools.cache
def as_handed_out(number: str, script: str) -> str:
    """A script of lab NN as a learner gets it, "" if there is none."""
    from course.lessons import lesson  # takes a second, which a written exercise need not spend

    (path,) = LESSONS.glob(f"{number}_*.md")
    scripts = lesson.read(path).scripts(solved=False)
    return scripts.get(f"src/{script}", "")


def _claim(item: pytest.Item) -> str:
    """What holds when a check passes."""
    return " ".join(item.function.__doc__.split())


def _visible(text: str) -> str:
    """What a learner's code says, without what would move a terminal's cursor or break XML."""
    return "".join(char if char.isprintable() or char in "\n\t" else "�" for char in text)


def _found_by_the_check(error: BaseException | None) -> bool:
    """Whether a check compared and found a fault, which its hint is about.

    A typo, a hang or an exception on the way there is told as it is.
    """
    return isinstance(error, AssertionError) and (
        not isinstance(error, Rejected) or "AssertionError" in str(error)
    )


class NotRun(Exception):
    """A check that was left out."""


def _outcome(error: BaseException | None) -> tuple[str, str]:
    match error:
        case None:
            return PASSED, ""
        case Unwritten():
            return OPEN, str(error)
        case NotRun() | NotJudged() | CourseError():
            return NOT_RUN, str(error)
        case AssertionError():
            return FAILED, str(error)
        case _:
            return FAILED, f"{type(error).__name__}: {error}"


def run(
    src: Path,
    names: Sequence[str],
    junit: Path | None = None,
    limit: float | None = None,
    only: str = "",
    isolated: bool = False,
    begun: Callable[[str], None] = lambda text: None,
) -> list[Result]:
    """Check the scripts in `src` for the exercises `names` (all if empty).

    `junit` is where a JUnit report goes, `limit` the seconds until ranks count as deadlocked;
    `only` picks the checks of that name; `isolated` runs the learner's code in a sandbox; `begun`
    is told of each check when it begins.
    Raises `CourseError` where this box has none.
    """
    if isolated:
        bubblewrap.require()
    session = Session(Path(src).resolve(), limit, isolated, begun)
    arguments = [node_of(name) for name in names or exercises()]
    options = [
        f"-pno:{plugin}" for plugin in ("cacheprovider", "nbval", "terminal", "unraisableexception")
    ]
    options += ["-c", str(Path(__file__).with_name("pytest.ini")), "--rootdir", str(CHECKS)]
    if junit:
        options.append(f"--junit-xml={junit}")
    if only:
        arguments = [f"{node}::{only}" for node in arguments]
    pytest.main([*options, *arguments], plugins=[session])
    return session.results


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--isolated", action="store_true")
    parser.add_argument("report", type=Path)
    parser.add_argument("src", type=Path)
    parser.add_argument("names", nargs="+")
    args = parser.parse_args()
    results = run(
        args.src,
        args.names,
        isolated=args.isolated,
        begun=lambda text: print(f"\r{text}", end="", flush=True),
    )
    args.report.write_text(json.dumps([asdict(result) for result in results]))
