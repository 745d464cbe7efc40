"""The user stops a run by one interrupt, by several, or by closing the notebook."""

import contextlib
import signal
import time

import psutil
import pytest
from support.launching import Client, once
from support.patience import until
from support.scripts import HEALTHY, HUNG, IGNORING

pytestmark = [pytest.mark.slow, pytest.mark.rest]


@pytest.mark.parametrize("source", [HEALTHY, HUNG, IGNORING], ids=["healthy", "hung", "ignoring"])
def test_interrupt(client: Client, source: str) -> None:
    client.hold(source)
    client.process.send_signal(signal.SIGINT)
    client.gone()
    answer = client.result()
    assert answer["interrupted"] and answer["reason"] == "interrupted"
    assert answer["shown"].startswith("Interrupted: all ranks were ended")
    assert answer["shown"].count("\n") == 1


def begin(client: Client) -> None:
    """Begin a long run; the client has sent its request and waits for an answer."""
    client.script("long", "import time; time.sleep(600)")
    process = psutil.Process(client.process.pid)
    files = process.num_fds()
    client.start("python", "long.py")
    until(lambda: process.num_fds() > files and process.status() == psutil.STATUS_SLEEPING)


def test_interrupt_before_the_supervisor_is_there(client: Client) -> None:
    """The request to stop then reaches the supervisor together with the request to run."""
    pause = list(map(psutil.Process, client.own - {client.process.pid}))
    for process in pause:  # a warm server that is still importing
        process.suspend()
    begin(client)
    client.process.send_signal(signal.SIGINT)
    for process in pause:
        process.resume()
    assert client.result()["interrupted"]
    client.gone()


@once
@pytest.mark.parametrize("served", [False, True], ids=["not served yet", "served"])
def test_interrupt_where_nothing_answers(client: Client, served: bool) -> None:
    """A server or a supervisor that is suspended or swapped out does not block the cell."""
    if served:
        client.hold(HEALTHY)
        still = [client.supervisor()]
    else:
        still = list(map(psutil.Process, client.own - {client.process.pid}))
    for process in still:
        process.suspend()
    try:
        if not served:
            begin(client)
        client.process.send_signal(signal.SIGINT)
        answer = client.result()
        assert answer["interrupted"] and answer["reason"] == "interrupted"
        assert answer["shown"].startswith("Interrupted: all ranks were ended")
    finally:
        for process in still:
            with contextlib.suppress(psutil.NoSuchProcess):  # it was killed: it did not answer
                process.resume()
    client.gone()


@once
def test_interrupts_in_a_row(client: Client) -> None:
    client.hold(IGNORING)
    for _ in range(3):
        client.process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    client.gone()
    assert client.result()["interrupted"]


@pytest.mark.parametrize("source", [HEALTHY, HUNG], ids=["healthy", "hung"])
def test_client_killed(client: Client, source: str) -> None:
    client.hold(source)
    client.process.kill()
    client.process.wait()
    client.own = set()  # the warm server has to go as well
    client.gone()


def test_client_killed_while_a_fork_of_it_lives(client: Client) -> None:
    """Such a fork (a worker of some library) holds the client's end of the channel open."""
    client.hold(HEALTHY)
    client.process.send_signal(signal.SIGINT)
    assert client.result()["interrupted"]
    heir = psutil.Process(client.ask(fork=True)["pid"])
    client.own.add(heir.pid)
    try:
        client.hold(HEALTHY)
        client.process.kill()
        client.process.wait()
        client.gone()
        assert heir.is_running()
    finally:
        heir.kill()
