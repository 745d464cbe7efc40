"""Faults that a launch must survive, each with real processes, with a warm process and without one.

After each fault the last process of the run is gone within `GONE_S`, the client still answers, and the learner has
read one clear sentence.
"""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from support.launching import GONE_S, HEALTHY, HUNG, PREAMBLE, Client, marked, torchrun, until

pytestmark = pytest.mark.timeout(180)
WAYS = ("warm", "cold")
once = pytest.mark.parametrize(
    "client", ["warm"], indirect=True
)  # where the way can make no difference


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Client]]:
    """One client of each way for the whole module; a test that kills it leaves the next one a new client."""
    alive: dict[str, Client] = {}
    yield alive
    for client in alive.values():
        client.close()


@pytest.fixture(params=WAYS)
def client(
    request: pytest.FixtureRequest, clients: dict[str, Client], tmp_path_factory: object
) -> Iterator[Client]:
    """A client that is ready to launch, and that still answers and has left no process when the test is over."""
    way = request.param
    if way not in clients or clients[way].process.poll() is not None:
        clients[way] = Client(tmp_path_factory.mktemp(way), warm=way == "warm")
    client = clients[way]
    yield client
    client.gone()
    if client.process.poll() is None:
        assert (
            client.run("python", client.script("answer", "print('here')").name)["stdout"][0]
            == "here"
        )
        assert "Traceback" not in client.noise
    else:
        client.own = set()
        client.gone()


def after(what: str, seconds: float, record: object) -> None:
    """Note how long the last process took to go (`pytest --junitxml` and `-rP` show it)."""
    record(what, round(seconds, 2))
    print(f"{what}: last process gone after {seconds:.2f} s")


# -- the user stops a run ---------------------------------------------------------------------------------------------

IGNORING = (
    PREAMBLE
    + """
for number in (signal.SIGINT, signal.SIGTERM): signal.signal(number, signal.SIG_IGN)
ready()
while True: time.sleep(0.05)
"""
)


@pytest.mark.parametrize("source", [HEALTHY, HUNG, IGNORING], ids=["healthy", "hung", "ignoring"])
def test_interrupt(client: Client, source: str, record_property: object) -> None:
    client.hold(source)
    client.process.send_signal(signal.SIGINT)
    after("interrupt", client.gone(), record_property)
    answer = client.result()
    assert answer["interrupted"] and answer["reason"] == "stopped"
    assert answer["shown"].startswith("Interrupted: all ranks were ended")
    assert answer["shown"].count("\n") == 1


def test_interrupt_before_the_supervisor_is_there(client: Client) -> None:
    """The request to stop then reaches the supervisor together with the request to run."""
    client.script("long", "import time; time.sleep(60)")
    pause = list(map(psutil.Process, client.own - {client.process.pid}))
    for process in pause:  # a warm process that is still importing
        process.suspend()
    client.start("python", "long.py")
    until(lambda: list((client.folder / "runs").glob("*-long-*")))
    time.sleep(0.15)
    client.process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    for process in pause:
        process.resume()
    assert client.result(within=GONE_S)["interrupted"]
    assert client.gone() < GONE_S


@once
def test_interrupts_in_a_row(client: Client) -> None:
    client.hold(IGNORING)
    for _ in range(3):
        client.process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    assert client.gone() < GONE_S
    assert client.result()["interrupted"]


@pytest.mark.parametrize("source", [HEALTHY, HUNG], ids=["healthy", "hung"])
def test_client_killed(client: Client, source: str, record_property: object) -> None:
    client.hold(source)
    client.process.kill()
    client.process.wait()
    client.own = set()  # the warm process has to go as well
    after("client killed", client.gone(), record_property)


def test_client_killed_while_a_fork_of_it_lives(client: Client) -> None:
    """Such a fork (a worker of some library) holds the client's end of the wire open."""
    client.hold(HEALTHY)
    client.process.send_signal(signal.SIGINT)
    assert client.result()["interrupted"]
    heir = psutil.Process(client.ask(fork=True)["pid"])
    client.own.add(heir.pid)
    try:
        client.hold(HEALTHY)
        client.process.kill()
        client.process.wait()
        assert client.gone() < GONE_S
        assert heir.is_running()
    finally:
        heir.kill()


# -- a process of the run dies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [HEALTHY, HUNG], ids=["healthy", "hung"])
def test_launcher_killed(client: Client, source: str, record_property: object) -> None:
    client.hold(source)
    client.launcher().kill()
    after("launcher killed", client.gone(), record_property)
    answer = client.result()
    assert not answer["ok"] and answer["reason"] == "launcher"
    assert answer["shown"] == "The launcher was killed; its ranks were ended.\n"


@pytest.mark.parametrize("source", [HEALTHY, HUNG], ids=["healthy", "hung"])
def test_supervisor_killed(client: Client, source: str, record_property: object) -> None:
    client.hold(source)
    client.supervisor().kill()
    after("supervisor killed", client.gone(), record_property)
    answer = client.result()
    assert not answer["ok"] and answer["reason"] == "lost"
    assert answer["shown"] == "The run's supervisor was killed; its ranks were ended.\n"


@pytest.mark.parametrize("source", [HEALTHY, HUNG], ids=["healthy", "hung"])
def test_rank_killed(client: Client, source: str, record_property: object) -> None:
    client.hold(source)
    client.rank(1).kill()
    after("rank killed", client.gone(), record_property)
    answer = client.result()
    assert answer["codes"][1] == -signal.SIGKILL and answer["codes"][0] != 0
    assert answer["first_failed"] == 1
    assert "Rank 1 failed first (killed by SIGKILL)." in answer["shown"]


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


def test_rank_raises(client: Client, record_property: object) -> None:
    began = time.monotonic()
    answer = client.ranks(RAISING, str(client.folder))
    after("rank raises (whole run)", time.monotonic() - began, record_property)
    assert client.gone() < GONE_S
    assert answer["codes"][1] == 1 and answer["codes"][0] != 0 and answer["first_failed"] == 1
    shown = answer["shown"]
    assert (
        "Rank 1 failed first (exit code 1):\nTraceback (most recent call last):\n  File " in shown
    )
    assert shown.index("ValueError: rank 1 cannot go on") > shown.index("Rank 1 failed first")
    assert "torch/distributed/elastic" not in shown and "course/" not in shown


# -- a deadlock -------------------------------------------------------------------------------------------------------

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
    ("source", "said"),
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
def test_time_limit(client: Client, source: str, said: list[str], record_property: object) -> None:
    limit = 4.0 if client.warm else 9.0
    began = time.monotonic()
    answer = client.ranks(source, limit=limit)
    after("time limit", max(0.0, time.monotonic() - began - limit), record_property)
    assert client.gone() < GONE_S and time.monotonic() - began - limit < GONE_S
    assert answer["reason"] == "limit" and answer["codes"] == {
        0: -signal.SIGABRT,
        1: -signal.SIGABRT,
    }
    assert answer["shown"].startswith(
        f"The limit of {limit:g} s ended the run. Where the ranks stood:"
    )
    for words in said:
        assert words in answer["shown"]


@once
def test_time_limit_with_a_rank_that_never_stops_printing(client: Client) -> None:
    """Its output must not keep the supervisor from its other work, when another rank ends and at the limit."""
    flood = "import os\nwhile os.environ['RANK'] == '1': os.write(1, b'flood\\n' * 1000)\n"
    limit = 3.0
    began = time.monotonic()
    answer = client.ranks(flood, limit=limit)
    assert time.monotonic() - began < limit + GONE_S and client.gone() < GONE_S
    assert answer["reason"] == "limit" and answer["codes"][0] == 0


# -- what ranks may print ---------------------------------------------------------------------------------------------


def test_many_lines(client: Client) -> None:
    answer = client.ranks(
        "import os\nfor i in range(200_000): print('line', i, 'of rank', os.environ['RANK'])\n"
    )
    assert answer["ok"]
    for rank in (0, 1):
        whole = Path(answer["log_dir"], f"rank{rank}.log").read_text().splitlines()
        assert whole == [f"line {i} of rank {rank}" for i in range(200_000)]
        assert answer["stdout"][rank].endswith(f"line 199999 of rank {rank}")
    assert answer["lines"] < 11_000
    assert answer["shown"].count("\n") < 450 and "… the rest is in " in answer["shown"]


@once
def test_lines_without_an_end(client: Client) -> None:
    source = """
    import sys, time
    from tqdm import tqdm
    for _ in tqdm(range(30), desc="steps", mininterval=0): time.sleep(0.001)
    sys.stdout.write("\\r 10 %")
    sys.stdout.write("\\r100 %\\nwindows\\r\\n")
    sys.stdout.write("x" * 300_000)
    sys.stdout.write("the end")
    """
    answer = client.ranks(source)
    assert answer["ok"]
    for rank in (0, 1):
        first, second, last = answer["stdout"][rank].splitlines()
        assert (
            (first, second) == ("100 %", "windows") and last.startswith("xxx") and len(last) < 3_000
        )
        assert (
            answer["stderr"][rank].startswith("steps: 100%") and "30/30" in answer["stderr"][rank]
        )
        assert "\n" not in answer["stderr"][rank]
        assert Path(answer["log_dir"], f"rank{rank}.log").read_text().endswith("the end")


@once
def test_output_that_is_not_text(client: Client) -> None:
    answer = client.ranks(
        "import os; os.write(1, b'caf\\xe9 \\x00\\xff\\xfe \\xe2\\x82\\xac\\n'); print('after')"
    )
    assert answer["ok"]
    assert answer["stdout"][0] == "caf� \x00�� €\nafter"
    assert (
        Path(answer["log_dir"], "rank0.log").read_bytes()
        == b"caf\xe9 \x00\xff\xfe \xe2\x82\xac\nafter\n"
    )


# -- what the box refuses ---------------------------------------------------------------------------------------------

JOINING = """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
print(int(total))
dist.destroy_process_group()
"""


@once
@pytest.mark.parametrize(
    "words",
    [
        ("torchrun", "--standalone", "--nproc-per-node", "2"),
        ("torchrun", "--nproc-per-node", "2"),
        ("accelerate", "launch", "--cpu", "--num_processes", "2"),
    ],
    ids=["standalone", "plain", "accelerate"],
)
def test_usual_port_is_taken(client: Client, words: tuple[str, ...]) -> None:
    client.script("joining", JOINING)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("", 29500))
        taken.listen()
        answer = client.run(*words, "joining.py")
    assert answer["ok"] and answer["stdout"][0] == answer["stdout"][1] == "2"


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A small file system of its own at `folder`; skips the test where that is not allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small file system takes root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@once
def test_folder_is_read_only(client: Client, tmp_path: Path) -> None:
    with mounted(tmp_path / "labs", "size=1m") as labs:
        (labs / "joining.py").write_text("print('ran')")
        subprocess.run(["mount", "-o", "remount,ro", str(labs)], check=True)
        answer = client.run(*torchrun(), "joining.py", cwd=labs)
    assert answer["ok"] and answer["stdout"][1] == "ran"
    assert Path(answer["log_dir"]).is_relative_to(client.temporary)
    assert Path(answer["log_dir"], "rank1.log").read_text() == "ran\n"


@once
def test_log_folder_cannot_be_made(client: Client, tmp_path: Path) -> None:
    """Not even by root: a file has its name."""
    (tmp_path / "runs").write_text("a file")
    (tmp_path / "script.py").write_text("print('ran')")
    answer = client.run(*torchrun(), "script.py", cwd=tmp_path)
    assert answer["ok"] and answer["stdout"][0] == "ran"


@once
def test_full_disk_before_the_run(client: Client, tmp_path: Path) -> None:
    with mounted(tmp_path / "labs", "size=64k,nr_inodes=40") as labs:
        (labs / "script.py").write_text(
            "from course import log\nlog(step=1, loss=0.5)\nprint('ran')"
        )
        with (
            (labs / "ballast").open("wb", buffering=0) as file,
            pytest.raises(OSError, match="No space"),
        ):
            while True:
                file.write(b"0" * 4096)
        answer = client.run(*torchrun(), "script.py", cwd=labs)
    assert answer["ok"]
    assert "ran" in answer["stdout"][0]
    assert answer["rows"] or "loss 0.5" in answer["stdout"][0]


@once
def test_disk_fills_up_during_the_run(client: Client, tmp_path: Path) -> None:
    with mounted(tmp_path / "labs", "size=512k") as labs:
        (labs / "script.py").write_text(
            "for i in range(20_000): print('a line of some length', i)\nprint('ran')"
        )
        answer = client.run(*torchrun(), "script.py", cwd=labs)
    assert (
        answer["ok"] and answer["stdout"][0].endswith("ran") and answer["stdout"][1].endswith("ran")
    )
    assert answer["shown"].count("stops here: No space left on device; the run goes on.") == 1


@once
def test_no_space_for_a_log_folder_anywhere(client: Client, tmp_path: Path) -> None:
    """Neither beside the notebook nor among the temporary files: one sentence, and nothing is started."""
    (tmp_path / "runs").write_text("a file")
    client.script("script", "print('ran')")
    hidden = client.temporary.rename(client.folder / "hidden")
    client.temporary.write_text("a file")
    try:
        answer = client.run("python", str(client.folder / "script.py"), cwd=tmp_path)
    finally:
        client.temporary.unlink()
        hidden.rename(client.temporary)
    assert (
        answer["refused"].startswith("No folder for the run's logs can be made")
        and "\n" not in answer["refused"]
    )


# -- more than one run, and processes that hide ----------------------------------------------------------------------


@once
def test_two_clients_at_once(client: Client, tmp_path: Path) -> None:
    other = Client(tmp_path / "other", warm=False)
    with_accelerate = ("accelerate", "launch", "--cpu", "--num_processes", "2")
    for one in (client, other):
        one.script("joining", JOINING)
    for words in (torchrun(), with_accelerate):
        for one in (client, other):
            one.start(*words, "joining.py")
        for one in (client, other):
            answer = one.result()
            assert answer["ok"] and answer["stdout"][0] == answer["stdout"][1] == "2"
    other.close()


DAEMON = """
import os, sys, time
if os.environ["RANK"] == "0" and os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 3)
        os.chdir("/")
        time.sleep(600)
    os._exit(0)
time.sleep(0.3)
print("done")
"""


def test_daemon_of_a_rank(client: Client, record_property: object) -> None:
    answer = client.ranks(DAEMON)
    after("daemon", client.gone(), record_property)
    assert answer["ok"] and answer["stdout"][0] == "done"
    assert answer["left"] == 1
    assert "1 process was still running when the ranks had ended, and ended too." in answer["shown"]


@once
def test_daemon_of_a_rank_that_hangs(client: Client) -> None:
    client.hold(DAEMON.replace('print("done")', "from pathlib import Path; Path(sys.argv[1], "
                               "f\"ready{os.environ['RANK']}\").touch(); time.sleep(600)"))  # fmt: skip
    client.process.send_signal(signal.SIGINT)
    assert client.gone() < GONE_S
    assert client.result()["interrupted"]


def test_children_of_ranks_whose_supervisor_is_killed(client: Client) -> None:
    """A daemon and loader workers: nobody is left who knows them but the system."""
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
    assert (
        client.gone(within=2 * GONE_S) < 2 * GONE_S
    )  # loader workers look for their parent every 5 s
    assert client.result()["reason"] == "lost"


# -- the warm process dies --------------------------------------------------------------------------------------------


@pytest.fixture
def warm(clients: dict[str, Client], tmp_path: Path) -> Iterator[Client]:
    """A warm client of its own."""
    client = Client(tmp_path / "warm", warm=True)
    yield client
    client.close()
    assert "Traceback" not in client.noise
    left = [
        path.name
        for path in client.temporary.iterdir()
        if path.name.startswith(("course-", "torchelastic"))
    ]
    assert left == []


def generations(client: Client) -> list[psutil.Process]:
    """The warm process's two generations, older first."""
    return sorted(
        map(psutil.Process, client.own - {client.process.pid}), key=psutil.Process.create_time
    )


def test_idle_warm_process_killed(warm: Client) -> None:
    """The younger generation, which is the larger and so the first choice of a system short of memory."""
    older, younger = generations(warm)
    younger.kill()
    warm.own = {warm.process.pid, older.pid}
    for _ in range(2):
        answer = warm.ranks("print('ran')")
        assert answer["ok"] and answer["stdout"] == {None: "", 0: "ran", 1: "ran"}


@pytest.mark.parametrize("which", [[0], [1], [0, 1]], ids=["older", "younger", "both"])
def test_warm_process_killed_during_a_run(
    warm: Client, which: list[int], record_property: object
) -> None:
    """The run goes on or is ended whole; the next one works."""
    warm.hold(HUNG, limit=4)
    processes = generations(warm)
    for number in which:
        processes[number].kill()
    answer = warm.result(within=20)
    assert answer["reason"] in ("limit", "lost")
    warm.own |= set(marked(warm.mark))  # a new warm process, if there is one
    ranks = json.loads((warm.folder / "started.json").read_text()).values()
    record_property("gone", until(lambda: not any(map(psutil.pid_exists, ranks)), within=GONE_S))
    assert warm.ranks("print('ran')")["ok"]
