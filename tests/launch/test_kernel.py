"""A real kernel interrupts a run, restarts during one, or dies."""

import os
import signal
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from jupyter_client import KernelManager
from support import evidence
from support.launching import MARK, WAYS, clean_environment, marked, torchrun
from support.patience import PATIENCE_S, until
from support.scripts import HEALTHY, HUNG

pytestmark = pytest.mark.slow


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
        if self.way == "cold":
            self.run("from course.launch import forked; forked.possible = lambda: False")
        self.run("%load_ext course")

    def begin(self, code: str) -> str:
        """Send a cell; `outputs` waits for it."""
        return self.client.execute(code)

    def outputs(self, cell: str) -> dict[str, str]:
        """The output of a cell: its stdout and stderr, and its error or None."""
        shown = {"stdout": "", "stderr": "", "error": None}
        evidence.keep("a cell of the kernel showed", lambda: "\n".join(map(str, shown.values())))
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE_S)
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
        """Processes of runs: not the kernel itself, nor its warm server."""
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
        until(lambda: not marked(self.mark))


@pytest.fixture(scope="module", params=WAYS)
def kernel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kernel]:
    """One kernel for all tests of this file, since a start takes seconds; the last one kills it."""
    kernel = Kernel(tmp_path_factory.mktemp(request.param), request.param)
    yield kernel
    kernel.close()


def test_kernel_interrupted(kernel: Kernel) -> None:
    """With healthy ranks and with a hung one, the cell says where they were, and ends."""
    for source in (HEALTHY, HUNG):
        cell = kernel.hold(source)
        kernel.manager.interrupt_kernel()
        until(lambda: not kernel.others())
        shown = kernel.outputs(cell)
        assert "Interrupted after" in shown["stdout"]
        assert shown["error"].strip() == "Interrupted."
        assert kernel.run("print(6 * 7)")["stdout"] == "42\n"


def test_kernel_restarted(kernel: Kernel) -> None:
    """As JupyterLab's button does it, while a rank hangs; the new kernel launches again."""
    kernel.hold(HUNG)
    old = set(marked(kernel.mark))
    kernel.manager.restart_kernel(now=False)
    until(lambda: not old & set(marked(kernel.mark)))
    kernel.client.stop_channels()
    kernel.connect()
    (kernel.folder / "short.py").write_text("print('ran')")
    assert "ran" in kernel.run("%python short.py")["stdout"]


def test_kernel_killed(kernel: Kernel) -> None:
    """While a rank hangs in an all-reduce: the warm server goes as well."""
    kernel.hold(HUNG)
    os.kill(kernel.pid, signal.SIGKILL)
    until(lambda: set(marked(kernel.mark)) <= {kernel.pid})
