"""On a system that is not Linux, ranks start, fail and end as they should.

There is no macOS here, so its lacks are made: no /proc, no prctl, no pidfd, no credentials of a
socket's other end, no affinity, no forked ranks, no forked workers. What Apple's own torch does is
not tried by this.
"""

import signal
from collections.abc import Iterator

import pytest
from support.launching import Client, marked
from support.scripts import HUNG, IGNORING, JOINING

from course.core import RUNS

pytestmark = [pytest.mark.slow, pytest.mark.rest]

SITE = """
import multiprocessing, os, pathlib, socket, sys

multiprocessing.set_start_method("spawn")
for home, name in ((os, "pidfd_open"), (os, "sched_getaffinity"), (socket, "SO_PEERCRED")):
    if hasattr(home, name):
        delattr(home, name)


def without_proc(method):
    def call(path, *args, **kwargs):
        if str(path).startswith("/proc"):
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return method(path, *args, **kwargs)

    return call


for name in ("read_text", "read_bytes", "iterdir", "open"):
    setattr(pathlib.Path, name, without_proc(getattr(pathlib.Path, name)))


class Mac:
    platform = "darwin"

    def __getattr__(self, name):
        return getattr(sys, name)


from course.launch import forked, process_tree
from course.hardware import isolation

for module in (forked, process_tree, isolation):
    module.sys = Mac()
process_tree.ctypes = None
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client, and every process below it, on a system of this kind."""
    site = tmp_path_factory.mktemp("site")
    (site / "sitecustomize.py").write_text(SITE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(site))
        client = Client(tmp_path_factory.mktemp("mac"), warm=False)
        yield client
        client.close()


def test_there_are_no_warm_ranks_and_ranks_run(client: Client) -> None:
    client.ask(warm=True)
    assert set(marked(client.mark)) == {client.process.pid}
    source = "import os, sys\nfrom course.hardware import Machine\n"
    source += "print(Machine.here().cores > 0)\nfrom course.launch import forked\n"
    source += "print(forked.possible())\n"
    answer = client.ranks(source + JOINING)
    assert answer["ok"], answer["shown"]
    assert answer["stdout"] == {None: "", 0: "True\nFalse\n2", 1: "True\nFalse\n2"}


def test_a_rank_that_fails_ends_the_others(client: Client) -> None:
    source = "import os, sys, time\nif os.environ['RANK'] == '1': sys.exit(7)\ntime.sleep(900)"
    answer = client.ranks(source)
    assert answer["codes"] == {0: -signal.SIGTERM, 1: 7} and answer["first_failed"] == 1
    client.gone()


def test_a_hang_shows_where_each_rank_is_and_leaves_nothing(client: Client) -> None:
    client.hold(HUNG, limit=30)
    answer = client.result()
    assert answer["reason"] == "limit" and answer["left"] == 0
    assert "script.py" in answer["stderr"][0] and "script.py" in answer["stderr"][1]
    client.gone()


def test_when_the_client_is_killed_no_rank_stays(client: Client) -> None:
    """This must be the last test, because its client is gone. The ranks ignore requests to end."""
    client.hold(IGNORING)
    ranks = [client.rank(0), client.rank(1)]
    client.process.kill()
    client.own = set()
    client.gone()
    assert not any(rank.is_running() for rank in ranks)
    assert list((client.folder / RUNS).iterdir())
