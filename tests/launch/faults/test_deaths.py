"""A process of the run dies: the launcher, the supervisor or a rank."""

import signal

import psutil
import pytest
from support.launching import Client, once
from support.patience import until
from support.scripts import HEALTHY, HUNG, PREAMBLE

pytestmark = [pytest.mark.slow, pytest.mark.rest]


@pytest.mark.parametrize("source", [HEALTHY, HUNG], ids=["healthy", "hung"])
def test_launcher_killed(client: Client, source: str) -> None:
    client.hold(source)
    client.launcher().kill()
    client.gone()
    answer = client.result()
    assert not answer["ok"] and answer["reason"] == "launcher"
    assert answer["shown"] == "The launcher was killed; its ranks were ended.\n"


@pytest.mark.parametrize("source", [HEALTHY, HUNG], ids=["healthy", "hung"])
def test_supervisor_killed(client: Client, source: str) -> None:
    client.hold(source)
    client.supervisor().kill()
    client.gone()
    answer = client.result()
    assert not answer["ok"] and answer["reason"] == "lost"
    assert answer["shown"] == "The run's supervisor was killed; its ranks were ended.\n"


@pytest.mark.parametrize("source", [HEALTHY, HUNG], ids=["healthy", "hung"])
def test_rank_killed(client: Client, source: str) -> None:
    client.hold(source)
    client.rank(1).kill()
    client.gone()
    answer = client.result()
    assert answer["codes"][1] == -signal.SIGKILL and answer["codes"][0] != 0
    assert answer["first_failed"] == 1
    assert "Rank 1 failed first (killed by SIGKILL)." in answer["shown"]


@once
def test_rank_killed_when_nobody_looks(client: Client) -> None:
    """On a busy machine both ranks can end between two polls; still the first one is known."""
    client.hold(HUNG)
    supervisor, survivor = client.supervisor(), client.rank(0)
    supervisor.suspend()
    client.rank(1).kill()
    until(lambda: survivor.status() == psutil.STATUS_ZOMBIE)
    supervisor.resume()
    answer = client.result()
    assert list(answer["codes"].values()) == [1, -signal.SIGKILL] and answer["first_failed"] == 1


RAISING = (
    PREAMBLE
    + """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if rank == 1:
    raise ValueError("rank 1 cannot go on")
ready()
dist.all_reduce(torch.ones(4))
"""
)


def test_rank_raises(client: Client) -> None:
    answer = client.ranks(RAISING, str(client.folder))
    client.gone()
    assert answer["codes"][1] == 1 and answer["codes"][0] != 0 and answer["first_failed"] == 1
    shown = answer["shown"]
    first = "Rank 1 failed first (exit code 1):\nTraceback (most recent call last):\n  File "
    assert first in shown
    assert shown.index("ValueError: rank 1 cannot go on") > shown.index("Rank 1 failed first")
    assert "torch/distributed/elastic" not in shown and "course/" not in shown
