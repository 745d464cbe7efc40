"""A pytest plugin: the report of a failed test ends with what its launches and cells showed.

A failure that happens once in a thousand runs cannot be repeated, so its report must explain it.
The report has each launch with its exit codes and each rank's last lines, each cell with its
output, and each browser page with its text. A helper that starts programs in another way passes
their output to `keep`.
"""

import re
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path

import pytest

from course.launch import Run
from course.launch.messages import Event

LAST_LINES = 30  # of one rank's output on one stream
MODULES = "Extension modules: "  # Python lists all of them after its stacks; that is no evidence
LAST_LAUNCHES = 10  # of a test
LAST_MESSAGES = 20  # of a page's console
LONGEST_PAGE = 2000  # characters of a page's text
PAGE_MS = 10_000.0  # for a page to answer: that it hangs is evidence, too

_launches: dict[int, Run] = {}  # of this test, by `id()`
_sources: list[tuple[str, Callable[[], str]]] = []


def keep(title: str, text: Callable[[], str]) -> None:
    """Show a text under this title if the test fails; `text` is called only then."""
    _sources.append((title, text))


def describe_launch(end: str, codes: dict[int, int], written: Mapping[str, Mapping]) -> str:
    """How a launch ended, and the last lines of each rank (None: the launcher), by stream."""
    lines = [f"{end}; exit codes by rank: {codes}"]
    for stream, texts in written.items():
        for rank, text in texts.items():
            source = f"{'launcher' if rank is None else f'rank {rank}'} {stream}"
            shown = [line for line in text.splitlines() if not line.startswith(MODULES)]
            lines += [f"{source} │ {line}" for line in shown[-LAST_LINES:]]
    return "\n".join(lines)


def pytest_configure(config: pytest.Config) -> None:
    """Register each launch of this process when its run takes its first event."""
    patch, take = pytest.MonkeyPatch(), Run.take

    def take_and_register(run: Run, event: Event) -> None:
        _launches[id(run)] = run
        take(run, event)

    patch.setattr(Run, "take", take_and_register)
    config.add_cleanup(patch.undo)


def pytest_runtest_setup() -> None:
    """Forget what the test before this one did."""
    _launches.clear()
    _sources.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the evidence to the report of a test that failed."""
    report = yield
    if report.failed:
        report.sections += _sections(item)
    return report


def _sections(item: pytest.Item) -> Iterator[tuple[str, str]]:
    for run in list(_launches.values())[-LAST_LAUNCHES:]:
        end = f"{run.reason}, launcher's exit code {run.launcher_code}, {run.wall_s:.1f} s"
        ranks = [None, *sorted(run.processes)]
        written = {
            stream: {rank: run.text(rank, stream) for rank in ranks}
            for stream in ("stdout", "stderr")
        }
        yield run.command_line, describe_launch(end, run.exit_codes, written)
    for title, text in _sources:
        yield title, text()
    outputs = getattr(item, "test_outputs", None)  # of a notebook's cell
    if outputs:
        yield "the cell showed", "\n".join(map(_as_text, outputs))
    browser = getattr(item, "funcargs", {}).get("browser")
    pages = [page for context in browser.contexts for page in context.pages] if browser else []
    for number, page in enumerate(pages):
        name = re.sub(r"\W+", "_", item.name)[:80]
        yield f"page {page.url}", _page(page, item.config.rootpath / f"build/{name}.{number}.png")


def _page(page: object, picture: Path) -> str:
    """The text and the console messages of a browser page; saves a screenshot to `picture`."""
    try:
        text = page.inner_text("body", timeout=PAGE_MS)[:LONGEST_PAGE]
        messages = page.console_messages()[-LAST_MESSAGES:]
        page.screenshot(path=picture, timeout=PAGE_MS)
    except Exception as error:  # whatever is wrong with the page, the test needs its report
        return f"The page does not answer: {error}"
    console = [f"console {message.type} │ {message.text}" for message in messages]
    return "\n".join([text, *console, f"The page looks like {picture}."])


def _as_text(output: dict) -> str:
    """An output of a notebook cell as text."""
    plain = output.get("data", {}).get("text/plain", "")
    return output.get("text") or plain or "\n".join(output.get("traceback", []))
