"""`course run` typed on each of two machines, with their own networks, processes and names."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.launching import clean_environment

from course.core import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.rest]

PLANT = ROOT / "tests" / "diagnostics" / "run" / "plants" / "with_ddp.py"
MACHINE = ["unshare", "--uts", "--pid", "--fork", "--mount-proc", "sh", "-c"]
TORCHRUN = ["torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "2"]
TORCHRUN += ["--master-addr", "10.209.0.1"]


def test_the_ranks_of_two_machines_are_judged_together(start_nodes, tmp_path: Path) -> None:
    two = start_nodes(2)
    run = [sys.executable, "-m", "course", "run", "--patience", "8", "--json", "found.json"]
    run += ["--folder", ".", "--", sys.executable, "-m", *TORCHRUN]

    def typed_on(node: int) -> subprocess.Popen:
        enter = ["ip", "netns", "exec", two.network.namespace(node), *MACHINE]
        enter += [f'hostname node{node} && exec "$@"', "sh"]
        return subprocess.Popen(
            [*enter, *run, "--node-rank", str(node), str(PLANT), "leftover"],
            env=clean_environment() | {"GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1"},
            cwd=tmp_path,
            text=True,
            stderr=subprocess.PIPE,
        )

    commands = [typed_on(node) for node in (0, 1)]
    answers = [command.communicate()[1] for command in commands]
    assert [command.returncode for command in commands] == [3, 3], answers
    assert "rank 3 waits in barrier" in answers[0] and "rank 3 waits" not in answers[1]
    report = json.loads((tmp_path / "found.json").read_text())
    assert (report["ended"], len(report["ranks"])) == ("hang", 4)
    assert report["findings"][0]["what"] == "different calls"
    assert [path.name for path in tmp_path.iterdir()] == ["found.json"]
