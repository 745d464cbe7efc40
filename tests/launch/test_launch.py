"""What a launch does when all goes well, again and again, and what a real kernel does to it."""

import os
import re
import signal
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from jupyter_client import KernelManager
from support.launching import (
    GONE_S,
    HEALTHY,
    HUNG,
    MARK,
    PATIENCE_S,
    Client,
    clean_environment,
    marked,
    torchrun,
    until,
)

from course.launch.client import KEPT_RUNS
from course.launch.run import Run

pytestmark = pytest.mark.timeout(180)
once = pytest.mark.parametrize(
    "client", ["warm"], indirect=True
)  # where the way can make no difference


@pytest.fixture(scope="module", params=["warm", "cold"])
def client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    client = Client(tmp_path_factory.mktemp(request.param), warm=request.param == "warm")
    yield client
    client.close()


# -- a run ------------------------------------------------------------------------------------------------------------


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
        assert [row["step"] for row in rows] == [0, 1, 2] and rows[2]["loss"] == pytest.approx(
            1 / 3
        )
        log = Path(answer["log_dir"], f"rank{rank}.log").read_text()
        assert sorted(log.splitlines()) == sorted([answer["stdout"][rank], answer["stderr"][rank]])
    assert re.sub(r"\x1b\[[\d;]*m", "", answer["shown"]).count("rank 2 │ out 2") == 1
    assert Path(answer["log_dir"]).parent == client.folder / "runs"


def test_metrics_are_a_table() -> None:
    rows = [
        {"rank": 1, "time": 12.5, "step": 1, "loss": 0.5},
        {"rank": 0, "time": 10.0, "step": 1, "accuracy": 0.9},
    ]
    table = Run("torchrun script.py", Path("runs"), rows=rows).metrics
    assert list(table["time"]) == [2.5, 0.0] and list(table["rank"]) == [1, 0]
    assert {"step", "loss", "accuracy"} <= set(table.columns)
    assert len(Run("torchrun script.py", Path("runs")).metrics) == 0


@once
def test_exit_codes_and_the_first_to_fail(client: Client) -> None:
    source = "import os, sys, time\nif os.environ['RANK'] == '2': sys.exit(7)\ntime.sleep(60)"
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


def test_what_the_launcher_prints_is_shown(client: Client) -> None:
    assert "usage: torchrun" in client.run("torchrun", "--help")["shown"]
    answer = client.ranks("print('twice')")
    assert answer["ok"]
    teed = client.run(
        *torchrun(), "--tee", "3", "--log-dir", str(client.folder / "logs"), "script.py"
    )
    assert teed["ok"] and teed["shown"].count("twice") == 2


@once
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["torchrun", "--standalone", "nothing.py"], "There is no script nothing.py in"),
        (["python", "nothing.py"], "There is no script nothing.py in"),
        (["python", "-c", "1"], "%python runs a script"),
        (["mpirun", "script.py"], "A launch begins with one of torchrun, accelerate, python"),
        (["torchrun", "--no-such-flag", "script.py"], "torchrun: error:"),
        (["torchrun", "--nproc-per-node", "many", "script.py"], "many"),
        (["accelerate", "launch", "--cpu", "nothing.py"], "There is no script nothing.py in"),
    ],
)
def test_what_cannot_start_is_one_sentence(client: Client, words: list[str], sentence: str) -> None:
    client.script("script", "print('ran')")
    answer = client.run(*words)
    said = (answer["refused"] or answer["shown"]).strip()
    assert sentence in said and "\n" not in said
    assert not answer.get("ok")


@once
def test_gpus_wanted_that_are_not_there(client: Client) -> None:
    from course.hardware import box

    if box.gpu_count():
        pytest.skip("this box has a GPU")
    answer = client.run("torchrun", "--standalone", "--nproc-per-node", "gpu", "script.py")
    assert (
        answer["shown"].startswith("This box has no GPU that can be used")
        and answer["shown"].count("\n") == 1
    )


@once
def test_old_folders_are_deleted(client: Client, tmp_path: Path) -> None:
    """Those of finished runs, the oldest first; whether the client lived to see the end or not."""
    runs = tmp_path / "runs"
    for number in range(KEPT_RUNS + 4):
        folder = runs / f"20200101-{number:06d}-old"
        folder.mkdir(parents=True)
        if number != 1:
            (folder / "finished").touch()
    (tmp_path / "script.py").write_text("print('ran')")
    newest = Path(client.run("python", "script.py", cwd=tmp_path)["log_dir"])
    kept = sorted(path.name for path in runs.iterdir())
    assert len(kept) == KEPT_RUNS + 1 and "20200101-000001-old" in kept  # it may still be running
    assert newest.name in kept and "20200101-000000-old" not in kept
    assert (newest / "finished").exists()


def test_folder_of_a_killed_client_is_marked(tmp_path: Path) -> None:
    client = Client(tmp_path, warm=False)
    client.hold(HEALTHY, count=1)
    client.process.kill()
    client.close()
    (folder,) = (tmp_path / "runs").iterdir()
    assert (folder / "finished").exists()


# -- many runs --------------------------------------------------------------------------------------------------------

LAUNCHES, EACH_TORCHRUN = 200, 5


@pytest.mark.timeout(300)
def test_200_launches_in_a_row(tmp_path: Path) -> None:
    """None fails, and none leaves anything: processes, memory, file descriptors, files."""
    client = Client(tmp_path, warm=True)
    client.script("short", "import os; print('rank', os.environ.get('RANK', 'none'))")

    def burst(number: int) -> list[float]:
        took = []
        for i in range(number):
            words = torchrun() if i % EACH_TORCHRUN == 0 else ("python",)
            answer = client.run(*words, "short.py")
            assert answer["ok"], answer
            assert answer["stdout"][0] == ("rank 0" if len(words) > 1 else "rank none")
            took += [answer["wall_s"]] if len(words) > 1 else []
        return took

    burst(20)
    before, warm_before = client.ask(), vitals_of_the_warm(client)
    names_before = sorted(path.name for path in client.temporary.iterdir())
    took = burst(LAUNCHES - 20)
    client.gone()
    after, warm_after = client.ask(), vitals_of_the_warm(client)
    print(f"median of {len(took)} torchrun launches: {sorted(took)[len(took) // 2]:.2f} s")
    assert after["files"] == before["files"] and after["children"] == before["children"]
    assert after["rss"] - before["rss"] < 8e6
    assert [files for _, files in warm_after] == [files for _, files in warm_before]
    assert all(
        now - then < 8e6 for (now, _), (then, _) in zip(warm_after, warm_before, strict=True)
    )
    assert set(marked(client.mark)) == client.own
    assert len(list((tmp_path / "runs").iterdir())) <= KEPT_RUNS
    assert sorted(path.name for path in client.temporary.iterdir()) == names_before
    client.close()
    assert list(client.temporary.glob("course-*")) == []


def vitals_of_the_warm(client: Client) -> list[tuple[int, int]]:
    """Memory in bytes and open files of each warm process."""
    processes = [psutil.Process(pid) for pid in sorted(client.own - {client.process.pid})]
    return [(process.memory_info().rss, process.num_fds()) for process in processes]


# -- a real kernel ----------------------------------------------------------------------------------------------------


class Kernel:
    """A Jupyter kernel in a folder, with the course loaded; `way` is warm or cold."""

    def __init__(self, folder: Path, way: str) -> None:
        self.folder, self.mark, self.way = folder, uuid.uuid4().hex, way
        (folder / "tmp").mkdir()
        self.manager = KernelManager(kernel_name="python3")
        env = clean_environment() | {MARK: self.mark, "TMPDIR": str(folder / "tmp")}
        self.manager.start_kernel(cwd=str(folder), env=env)
        self.connect()

    def connect(self) -> None:
        """Talk to the kernel, new or restarted, and load the course in it."""
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE_S)
        self.run("%load_ext course")
        if self.way == "cold":
            self.run(
                "import os; from course import connect; connect._warm = None; del os.environ['COURSE_WARM']"
            )

    def begin(self, code: str) -> str:
        """Send a cell; `outputs` waits for it."""
        return self.client.execute(code)

    def outputs(self, cell: str, within: float = PATIENCE_S) -> dict[str, str]:
        """What a cell showed: its stdout and stderr, and its error or None."""
        shown = {"stdout": "", "stderr": "", "error": None}
        end = time.monotonic() + within
        while True:
            message = self.client.get_iopub_msg(timeout=max(0.1, end - time.monotonic()))
            content = message["content"]
            if message["parent_header"].get("msg_id") != cell:
                continue
            if message["msg_type"] == "stream":
                shown[content["name"]] += content["text"]
            elif message["msg_type"] == "error":
                shown["error"] = "\n".join(content["traceback"])
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                return shown

    def run(self, code: str) -> dict[str, str]:
        """Run a cell from start to end."""
        return self.outputs(self.begin(code))

    @property
    def pid(self) -> int:
        return self.manager.provisioner.pid

    def others(self) -> set[int]:
        """Processes of runs: all with the mark but the kernel and its warm processes."""
        ranks = {
            pid
            for file in self.folder.glob("pid*")
            if psutil.pid_exists(pid := int(file.read_text()))
        }
        return ranks & set(marked(self.mark))

    def hold(self, source: str) -> str:
        """Begin a cell with two ranks that never end, and wait until both have come there."""
        for file in [*self.folder.glob("ready*"), *self.folder.glob("pid*")]:
            file.unlink()
        pid = "def ready():\n    Path(sys.argv[1], f'pid{rank}').write_text(str(os.getpid()))"
        (self.folder / "held.py").write_text(source.replace("def ready():", pid))
        cell = self.begin(f"%{' '.join(torchrun())} held.py .")
        until(lambda: len(list(self.folder.glob("ready*"))) == 2)
        time.sleep(0.2)
        assert len(self.others()) == 2
        return cell

    def close(self) -> None:
        """End the kernel and see that nothing of it stays."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        until(lambda: not marked(self.mark), within=GONE_S)


@pytest.fixture(params=["warm", "cold"])
def kernel(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kernel]:
    kernel = Kernel(tmp_path, request.param)
    yield kernel
    kernel.close()


def test_kernel_interrupted(kernel: Kernel) -> None:
    """With healthy ranks and with a hung one: the cell ends with one line, and the kernel answers."""
    for source in (HEALTHY, HUNG):
        cell = kernel.hold(source)
        kernel.manager.interrupt_kernel()
        took = until(lambda: not kernel.others(), within=GONE_S)
        shown = kernel.outputs(cell)
        print(f"kernel interrupted: last process gone after {took:.2f} s")
        assert "Interrupted: all ranks were ended" in shown["stdout"]
        assert shown["error"].strip() == "Interrupted."
        assert kernel.run("print(6 * 7)")["stdout"] == "42\n"


def test_kernel_restarted(kernel: Kernel) -> None:
    """While a rank hangs in an all-reduce, as JupyterLab's button does it; the new kernel launches again."""
    kernel.hold(HUNG)
    old = set(marked(kernel.mark))
    start = time.monotonic()
    kernel.manager.restart_kernel(now=False)
    asked = time.monotonic() - start
    took = until(lambda: not old & set(marked(kernel.mark)), within=GONE_S)
    print(f"kernel restarted in {asked:.2f} s: last process gone {took:.2f} s after")
    kernel.client.stop_channels()
    kernel.connect()
    (kernel.folder / "short.py").write_text("print('ran')")
    assert "ran" in kernel.run("%python short.py")["stdout"]


def test_kernel_killed(kernel: Kernel) -> None:
    """While a rank hangs in an all-reduce: the warm process goes as well."""
    kernel.hold(HUNG)
    os.kill(kernel.pid, signal.SIGKILL)
    took = until(lambda: set(marked(kernel.mark)) <= {kernel.pid}, within=GONE_S)
    print(f"kernel killed: last process gone after {took:.2f} s")
