"""Faults that a launch must survive, each with real processes, with a warm server and without one.

After each fault no process of the run is left, the client still answers, and the learner has read
one clear sentence.
"""

from collections.abc import Iterator

import pytest
from support.launching import WAYS, Client


@pytest.fixture(scope="package")
def clients() -> Iterator[dict[str, Client]]:
    """A warm and a cold client for the whole folder, since a start takes seconds.

    A test that kills it leaves the next one a new client.
    """
    alive: dict[str, Client] = {}
    yield alive
    for client in alive.values():
        client.close()


@pytest.fixture(params=WAYS)
def client(
    request: pytest.FixtureRequest,
    clients: dict[str, Client],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Client]:
    """A client that is ready to launch.

    When the test is over it still answers, if it was not killed, and no process of a run is left.
    """
    way = request.param
    if way not in clients or clients[way].process.poll() is not None:
        clients[way] = Client(tmp_path_factory.mktemp(way), warm=way == "warm")
    client = clients[way]
    yield client
    try:
        _check(client)
    except AssertionError:
        clients.pop(way).close()  # an answer that nobody read would be taken for the next test's
        raise


def _check(client: Client) -> None:
    client.gone()
    if client.process.poll() is None:
        client.script("answer", "print('here')")
        assert client.run("python", "answer.py")["stdout"][0] == "here"
        assert "Traceback" not in client.noise
    else:
        client.own = set()
        client.gone()
