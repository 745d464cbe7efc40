"""The time limit ends a run whose ranks wait for one another, or never stop printing."""

import signal

import pytest
from support.launching import Client, once

pytestmark = [pytest.mark.slow, pytest.mark.rest]

CROSSED = """
import os, torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 0:
    dist.all_reduce(torch.ones(4))
else:
    dist.recv(torch.ones(4), src=0)
"""
ABSENT = """
import time, torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 0:
    dist.barrier()
else:
    time.sleep(100)
"""


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        (
            CROSSED,
            [
                "rank 0 waits in all_reduce at script.py:6",
                "rank 1 waits in recv at script.py:8",
                "different",
            ],
        ),
        (
            ABSENT,
            [
                "rank 0 waits in barrier at script.py:6",
                "rank 1 is at script.py:8",
                "rank 1 did not call barrier",
            ],
        ),
    ],
    ids=["crossed", "absent"],
)
def test_time_limit(client: Client, source: str, lines: list[str]) -> None:
    limit, answer = 2.0, {"shown": "", "codes": {}}
    # A busy machine: not all ranks are there, or they still import torch.
    early = ("outside the script", "script.py:1   import")
    while len(answer["codes"]) < 2 or any(words in answer["shown"] for words in early):
        limit = 2 * limit
        answer = client.ranks(source, limit=limit)
    client.gone()
    assert answer["reason"] == "limit"
    assert answer["codes"] == {0: -signal.SIGABRT, 1: -signal.SIGABRT}
    heading = f"The limit of {limit:g} s ended the run. Where the ranks stood:"
    assert answer["shown"].startswith(heading)
    for words in lines:
        assert words in answer["shown"]


@once
def test_time_limit_with_a_rank_that_was_stopped(client: Client) -> None:
    """It cannot write its stacks, and the supervisor's own SIGKILL is not reported as its end."""
    source = """
    import os, signal, sys, time
    if os.environ["RANK"] == "1":
        open("stops", "w").close()
        os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(900)
    """
    limit = 1.5
    while not (client.folder / "stops").exists():  # a busy machine: it did not come so far
        limit = 2 * limit
        answer = client.ranks(source, limit=limit)
    assert answer["reason"] == "limit" and answer["codes"][1] == -signal.SIGKILL
    assert "rank 1 did not answer: it was stopped" in answer["shown"]


@once
def test_time_limit_with_a_rank_that_never_stops_printing(client: Client) -> None:
    """Its output must not keep the supervisor from its other work.

    That work comes when another rank ends, and at the time limit.
    """
    flood = "import os\nwhile os.environ['RANK'] == '1': os.write(1, b'flood\\n' * 1000)\n"
    limit, answer = 1.5, {"codes": {}}
    while 0 not in answer["codes"] or answer["codes"][0]:  # a busy machine: it did not come so far
        limit = 2 * limit
        answer = client.ranks(flood, limit=limit)
    client.gone()
    assert answer["reason"] == "limit"
