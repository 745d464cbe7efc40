"""A real Slurm with a few pretend nodes on this machine, for practice and for tests.

    PYTHONPATH=tests python -m support.practice_cluster

runs until it is interrupted, and prints the settings with which other programs find it. It needs
Linux, root and Debian's packages. The controller, the nodes' daemons and munge are Slurm's own and
listen only on loopback. The GPUs are pretended: Slurm assigns them, and names them in
SLURM_STEP_GPUS. All nodes are this one machine, so no job may take its real GPUs or many of its
cores: in each task CUDA_VISIBLE_DEVICES is empty, and it computes on the CPU with one thread.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from course.clusters.slurm.commands import Commands
from course.core import CourseError
from support import slurm_folder
from support.patience import PATIENCE_S

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol")
PACKAGES = "munge slurmctld slurmd slurm-client"
DEVICES = ("null", "zero", "full", "random")  # in /dev, one for each pretended GPU
DAEMONS = "/usr/sbin"  # their folder, which may be missing from PATH
CORES_PER_GPU = 8  # pretended, too
SILENT_S = 30  # after which a node counts as down; a busy one may not answer for seconds
FIRST_PORT, PORTS = 17100, 50  # the first cluster's first port; the ports of each cluster

# Slurm puts what this prints into the environment of each task, after its own variables.
PROLOG = """\
#!/bin/sh
echo export CUDA_VISIBLE_DEVICES=
echo export ACCELERATE_USE_CPU=1
echo export OMP_NUM_THREADS=1
"""

CONF = """\
ClusterName=practice
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
FirstJobId={first_job}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog={folder}/prolog
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=0,batch_sched_delay=0
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SlurmdTimeout={silent}
MinJobAge=3600
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
StateSaveLocation={folder}/state
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdSpoolDir={folder}/spool-%n
GresTypes=gpu
NodeName=node[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{ports}] \\
    CPUs={cpus} RealMemory=256000 Gres=gpu:{gpus}
PartitionName=train Nodes=node[1-{nodes}] Default=YES MaxTime=24:00:00 DefaultTime=01:00:00 State=UP
PartitionName=debug Nodes=node1 MaxTime=00:30:00 DefaultTime=00:10:00 State=UP
"""


def obstacle() -> str | None:
    """The reason why this machine cannot run a practice cluster, as one sentence, or None."""
    if missing := [program for program in PROGRAMS if _which(program) is None]:
        return (
            f"{missing[0]} is not installed (apt-get install --no-install-recommends {PACKAGES})."
        )
    return None if os.geteuid() == 0 else "Slurm's daemons are started by root."


class PracticeCluster:
    """A running Slurm of `nodes` nodes with `gpus` pretend GPUs each.

    A node that has been silent for `SILENT_S` is down. Raises `CourseError` if this
    machine cannot run one.
    """

    def __init__(self, nodes: int = 3, gpus: int = 4) -> None:
        if why := obstacle():
            raise CourseError(f"There is no practice cluster here: {why}")
        if not 1 <= gpus <= len(DEVICES):
            raise CourseError(
                "A node of the practice cluster can pretend to have "
                f"1 to {len(DEVICES)} GPUs, not {gpus}."
            )
        slurm_folder.remove_abandoned()
        self.folder = Path(tempfile.mkdtemp(prefix=slurm_folder.PREFIX))
        self._lock = slurm_folder.take_ownership(self.folder)
        self.folder.chmod(0o755)  # munge insists that its socket can be reached
        self.nodes = [f"node{i + 1}" for i in range(nodes)]
        self.conf = self.folder / "slurm.conf"
        try:
            self._configure(nodes, gpus)
            self._start_munge()
            self._daemon("slurmctld", "-f", str(self.conf), pid="slurmctld.pid")
            for name in self.nodes:
                self.start_node(name)
            self._until_idle()
        except BaseException:
            self.stop()
            raise

    @property
    def commands(self) -> Commands:
        """Slurm's commands for this cluster."""
        return Commands(self.conf)

    def start_node(self, name: str) -> None:
        """Start a node's daemon, for the first time or after `kill_node`."""
        self._daemon("slurmd", "-f", str(self.conf), "-N", name, pid=f"{name}.pid")

    def kill_node(self, name: str) -> None:
        """Make a node fail: kill its daemon and every process of its jobs at once."""
        slurm_folder.kill(slurm_folder.daemons(self.folder, f"{name}.pid"))
        slurm_folder.kill_jobs(self.folder, name)

    def stop(self) -> None:
        """End the jobs, the daemons and all processes that they started, and remove the folder."""
        slurm_folder.end(self.folder)
        self._lock.close()

    def __enter__(self) -> "PracticeCluster":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _configure(self, nodes: int, gpus: int) -> None:
        controllers, *ports = _free_ports(nodes + 1)
        self.conf.write_text(
            CONF.format(
                host=socket.gethostname(),
                port=controllers,
                # Several clusters may run jobs here at once, and jobs derive their ports from ids.
                first_job=controllers - FIRST_PORT + 1,
                folder=self.folder,
                nodes=nodes,
                gpus=gpus,
                ports=f"{ports[0]}-{ports[-1]}" if nodes > 1 else ports[0],
                cpus=CORES_PER_GPU * gpus,
                silent=SILENT_S,
            )
        )
        lines = [
            f"NodeName=node[1-{nodes}] Name=gpu File=/dev/{device}" for device in DEVICES[:gpus]
        ]
        (self.folder / "gres.conf").write_text("\n".join(lines) + "\n")
        (self.folder / "prolog").write_text(PROLOG)
        (self.folder / "prolog").chmod(0o755)
        for name in ("state", "munge", *(f"spool-{node}" for node in self.nodes)):
            (self.folder / name).mkdir(mode=0o755)

    def _start_munge(self) -> None:
        folder = self.folder / "munge"
        (folder / "key").touch(mode=0o400)
        (folder / "key").write_bytes(os.urandom(128))
        files = {
            "key-file": "key",
            "socket": "socket",
            "pid-file": "munged.pid",
            "log-file": "log",
            "seed-file": "seed",
        }
        options = [f"--{option}={folder / file}" for option, file in files.items()]
        self._daemon("munged", *options, pid="munge/munged.pid")

    def _daemon(self, program: str, *words: str, pid: str) -> None:
        """Start a program that goes into the background by itself and writes its process id."""
        (self.folder / pid).unlink(missing_ok=True)
        done = subprocess.run(
            [_which(program), *words], capture_output=True, text=True, timeout=PATIENCE_S
        )
        if done.returncode:
            raise CourseError(f"{program} does not start: {done.stderr.strip().splitlines()[-1:]}")
        _until(
            lambda: (self.folder / pid).is_file() and (self.folder / pid).read_text().strip(),
            program,
        )
        slurm_folder.record_daemon(self.folder, pid)

    def _until_idle(self) -> None:
        from course.clusters.slurm.cluster import Cluster

        cluster = Cluster(self.commands)
        _until(lambda: all(node.state.startswith("IDLE") for node in cluster.nodes()), "the nodes")


def _which(program: str) -> str | None:
    return shutil.which(program) or shutil.which(program, path=DAEMONS)


def _free_ports(count: int) -> list[int]:
    """This many consecutive ports on which no process listens."""
    for first in range(FIRST_PORT, 32768, PORTS):
        with contextlib.ExitStack() as probes, contextlib.suppress(OSError):
            for port in range(first, first + count):
                probe = probes.enter_context(socket.socket())
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
            return list(range(first, first + count))
    raise CourseError("There are no free ports for a practice cluster.")


def _until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise CourseError(
                f"{what} of the practice cluster did not come up within {PATIENCE_S:g} s."
            )
        time.sleep(0.2)  # each check starts a Slurm command


def main() -> None:
    """Run a practice cluster until interrupted."""
    with PracticeCluster() as practice:
        print(f"export SLURM_CONF={practice.conf}", flush=True)
        notebook = f"%env SLURM_CONF={practice.conf}"
        print(f"Slurm runs. In a notebook: {notebook}   Ctrl-C ends it.", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    main()
