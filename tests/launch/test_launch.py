"""A launch works when nothing goes wrong, again and again."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from support.launching import WAYS, Client, marked, once, torchrun
from support.scripts import HEALTHY

from course import hardware
from course.core import RUNS
from course.launch import run_folder

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=WAYS)
def client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    client = Client(tmp_path_factory.mktemp(request.param), warm=request.param == "warm")
    yield client
    client.close()


# -- a run -----------------------------------------------------------------------------------------


def test_run_tells_what_ranks_did(client: Client) -> None:
    source = """
    import os, sys
    from course import log
    rank = int(os.environ["RANK"])
    for step in range(3):
        log(step=step, loss=1 / (step + 1))
    print("out", rank, sys.argv[1:])
    print("err", rank, file=sys.stderr)
    """
    answer = client.ranks(source, "--name", "two words", "it's", count=3)
    assert answer["ok"] and answer["codes"] == {0: 0, 1: 0, 2: 0} and answer["reason"] == "finished"
    for rank in range(3):
        assert answer["stdout"][rank] == f"out {rank} ['--name', 'two words', \"it's\"]"
        assert answer["stderr"][rank] == f"err {rank}"
        rows = [row for row in answer["rows"] if row["rank"] == rank]
        assert [row["step"] for row in rows] == [0, 1, 2]
        assert rows[2]["loss"] == pytest.approx(1 / 3)
        log = Path(answer["log_dir"], f"rank{rank}.log").read_text()
        assert sorted(log.splitlines()) == sorted([answer["stdout"][rank], answer["stderr"][rank]])
    assert re.sub(r"\x1b\[[\d;]*m", "", answer["shown"]).count("rank 2 │ out 2") == 1
    assert Path(answer["log_dir"]).parent == client.folder / RUNS


@once
def test_exit_codes_and_the_first_to_fail(client: Client) -> None:
    source = "import os, sys, time\nif os.environ['RANK'] == '2': sys.exit(7)\ntime.sleep(900)"
    answer = client.ranks(source, count=3)
    assert answer["codes"] == {0: -signal.SIGTERM, 1: -signal.SIGTERM, 2: 7}
    assert answer["first_failed"] == 2 and answer["launcher_code"] == 1 and not answer["ok"]
    assert "Rank 2 failed first (exit code 7)." in answer["shown"]


def test_python_runs_one_process(client: Client) -> None:
    client.script("alone", "import os, sys\nprint(os.environ.get('RANK'), sys.argv)\nsys.exit(3)")
    answer = client.run("python", "alone.py", "a b")
    assert answer["stdout"][0] == "None ['alone.py', 'a b']"
    assert answer["codes"] == {0: 3} and not answer["ok"]
    assert "The script failed (exit code 3)." in answer["shown"]


def test_python_runs_modules_and_code_and_launchers_that_are_modules(client: Client) -> None:
    client.script("alone", "import os, sys\nprint(os.environ.get('RANK'), sys.argv[1:])")
    for command in (["-m", "alone"], ["-u", "alone.py"], ["-c", "print(None, [])"]):
        answer = client.run("python", *command)
        assert (answer["stdout"][0], answer["codes"]) == ("None []", {0: 0})
    ranks = ["--standalone", "--nproc-per-node", "2", "alone.py"]
    answer = client.run("python3", "-m", "torch.distributed.run", *ranks)
    assert [answer["stdout"][rank] for rank in (0, 1)] == ["0 []", "1 []"]


def test_what_the_launcher_prints_is_shown(client: Client) -> None:
    assert "usage: torchrun" in client.run("torchrun", "--help")["shown"]
    answer = client.ranks("print('twice')")
    assert answer["ok"]
    logs = str(client.folder / "logs")
    teed = client.run(*torchrun(), "--tee", "3", "--log-dir", logs, "script.py")
    assert teed["ok"] and teed["shown"].count("twice") == 2


@once
@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["torchrun", "--standalone", "nothing.py"], "There is no script nothing.py in"),
        (["python", "nothing.py"], "There is no script nothing.py in"),
        (["python"], "%python runs a script"),
        (["mpirun", "script.py"], "begins with one of torchrun, accelerate, python, not with mpi"),
        (["torchrun", "--no-such-flag", "script.py"], "torchrun: error:"),
        (["torchrun", "--nproc-per-node", "many", "script.py"], "many"),
        (["accelerate", "launch", "--cpu", "nothing.py"], "There is no script nothing.py in"),
    ],
)
def test_what_cannot_start_is_one_sentence(
    client: Client, command: list[str], sentence: str
) -> None:
    client.script("script", "print('ran')")
    answer = client.run(*command)
    message = (answer["refused"] or answer["shown"]).strip()
    assert sentence in message and "\n" not in message
    assert not answer.get("ok")


@once
def test_gpus_wanted_that_are_not_there(client: Client) -> None:
    if hardware.gpu_count():
        pytest.skip("this machine has a GPU")
    answer = client.run("torchrun", "--standalone", "--nproc-per-node", "gpu", "script.py")
    assert answer["shown"].startswith("This machine has no GPU that can be used")
    assert answer["shown"].count("\n") == 1


def test_folder_of_a_killed_client_is_marked(tmp_path: Path) -> None:
    client = Client(tmp_path, warm=False)
    client.hold(HEALTHY, count=1)
    client.process.kill()
    client.close()
    (folder,) = (tmp_path / RUNS).iterdir()
    assert run_folder.may_delete(folder)


# -- many runs -------------------------------------------------------------------------------------

LAUNCHES, EACH_TORCHRUN = 100, 5


@pytest.mark.rest
def test_a_hundred_launches_in_a_row(tmp_path: Path) -> None:
    """None fails, and none leaves anything: processes, memory, file descriptors, files."""
    client = Client(tmp_path, warm=True)
    client.script("short", "import os; print('rank', os.environ.get('RANK', 'none'))")

    def burst(number: int) -> list[float]:
        took = []
        for i in range(number):
            command = torchrun() if i % EACH_TORCHRUN == 0 else ("python",)
            answer = client.run(*command, "short.py")
            assert answer["ok"], answer
            assert answer["stdout"][0] == ("rank 0" if len(command) > 1 else "rank none")
            if len(command) > 1:
                took.append(answer["wall_s"])
        return took

    burst(20)
    before, warm_before = client.ask(), usage_of_the_warm_server(client)
    names_before = sorted(path.name for path in client.temporary.iterdir())
    took = burst(LAUNCHES - 20)
    client.gone()
    after, warm_after = client.ask(), usage_of_the_warm_server(client)
    print(f"median of {len(took)} torchrun launches: {sorted(took)[len(took) // 2]:.2f} s")
    assert after["files"] == before["files"] and after["children"] == before["children"]
    assert after["rss"] - before["rss"] < 8e6
    assert [files for _, files in warm_after] == [files for _, files in warm_before]
    for (now, _), (then, _) in zip(warm_after, warm_before, strict=True):
        assert now - then < 8e6
    assert set(marked(client.mark)) == client.own
    assert len(list((tmp_path / RUNS).iterdir())) <= run_folder.KEPT_RUNS
    assert sorted(path.name for path in client.temporary.iterdir()) == names_before
    client.close()
    assert list(client.temporary.glob("course-*")) == []


def usage_of_the_warm_server(client: Client) -> list[tuple[int, int]]:
    """Memory in bytes and open files of each generation of the warm server."""
    processes = [psutil.Process(pid) for pid in sorted(client.own - {client.process.pid})]
    return [(process.memory_info().rss, process.num_fds()) for process in processes]
