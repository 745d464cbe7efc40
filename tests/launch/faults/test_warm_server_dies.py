"""The warm server dies: the older of its two generations, the younger one, or both."""

import json
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from support.launching import Client, marked
from support.patience import until
from support.scripts import PREAMBLE

pytestmark = [pytest.mark.slow, pytest.mark.rest]

WAITING = PREAMBLE + "ready()\nwhile not os.path.exists('go'): time.sleep(0.05)\n"


@pytest.fixture
def warm(tmp_path: Path) -> Iterator[Client]:
    """A warm client of its own."""
    client = Client(tmp_path / "warm", warm=True)
    yield client
    client.close()
    assert "Traceback" not in client.noise
    names = [path.name for path in client.temporary.iterdir()]
    assert [name for name in names if name.startswith(("course-", "torchelastic"))] == []


def generations(client: Client) -> list[psutil.Process]:
    """The warm server's two generations, older first."""
    processes = map(psutil.Process, client.own - {client.process.pid})
    return sorted(processes, key=psutil.Process.create_time)


def test_idle_warm_server_killed(warm: Client) -> None:
    """The younger generation: it is larger, so a system short of memory kills it first."""
    older, younger = generations(warm)
    younger.kill()
    warm.own = {warm.process.pid, older.pid}
    for _ in range(2):
        answer = warm.ranks("print('ran')")
        assert answer["ok"] and answer["stdout"] == {None: "", 0: "ran", 1: "ran"}


@pytest.mark.parametrize(
    "which",
    [
        pytest.param([0], id="older", marks=pytest.mark.sampled),
        pytest.param([1], id="younger", marks=pytest.mark.sampled),
        pytest.param([0, 1], id="both"),
    ],
)
def test_warm_server_killed_during_a_run(warm: Client, which: list[int]) -> None:
    """The run goes on to its end or is ended whole; the next one works."""
    warm.hold(WAITING)
    processes = generations(warm)
    for number in which:
        processes[number].kill()
    (warm.folder / "go").touch()
    answer = warm.result()
    assert answer["reason"] in ("finished", "lost") and answer["ok"] == (answer["reason"] != "lost")
    warm.own |= set(marked(warm.mark))  # a new warm server, if there is one
    ranks = json.loads((warm.folder / "started.json").read_text()).values()
    until(lambda: not any(map(psutil.pid_exists, ranks)))
    assert warm.ranks("print('ran')")["ok"]
