"""More than one run at once, and processes that hide from the run that started them."""

import signal
from pathlib import Path

import pytest
from support.launching import Client, once, torchrun
from support.scripts import JOINING, PREAMBLE

pytestmark = [pytest.mark.slow, pytest.mark.rest]


@once
def test_two_clients_at_once(client: Client, tmp_path: Path) -> None:
    other = Client(tmp_path / "other", warm=False)
    with_accelerate = ("accelerate", "launch", "--cpu", "--num_processes", "2")
    for one, command in ((client, torchrun()), (other, with_accelerate)):
        one.script("joining", JOINING)
        one.start(*command, "joining.py")
    for one in (client, other):
        answer = one.result()
        assert answer["ok"] and answer["stdout"][0] == answer["stdout"][1] == "2"
    other.close()


DAEMON = """
import os, sys, time
if os.environ["RANK"] == "0":
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 3)
            os.chdir("/")
            time.sleep(600)
        os._exit(0)
    os.waitpid(child, 0)  # the daemon is there
print("done")
"""


def test_daemon_of_a_rank(client: Client) -> None:
    answer = client.ranks(DAEMON)
    client.gone()
    assert answer["ok"] and answer["stdout"][0] == "done"
    assert answer["left"] == 1
    assert "1 process was still running when the ranks had ended, and ended too." in answer["shown"]


@once
def test_daemon_of_a_rank_that_hangs(client: Client) -> None:
    client.hold(PREAMBLE + DAEMON.replace('print("done")', "ready(); time.sleep(600)"))
    client.process.send_signal(signal.SIGINT)
    client.gone()
    assert client.result()["interrupted"]


def test_children_of_ranks_whose_supervisor_is_killed(client: Client) -> None:
    """A daemon and loader workers: only the system still knows about them."""
    source = """
    import torch
    from torch.utils.data import DataLoader

    class Slow(torch.utils.data.Dataset):
        def __len__(self): return 1000
        def __getitem__(self, i): time.sleep(0.05); return i

    if __name__ == "__main__":
        for i, _ in enumerate(DataLoader(Slow(), num_workers=2)):
            if i == 2: ready()
    """
    client.hold(PREAMBLE + "\n".join(line[4:] for line in source.splitlines()))
    assert len(client.others()) >= 8
    client.supervisor().kill()
    client.gone()
    assert client.result()["reason"] == "lost"
