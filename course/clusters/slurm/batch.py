"""The sbatch file of a training run, for each way of starting its processes."""

import math
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from course.core import CourseError

CONTINUED = " \\\n    "
GRACE_S = 60  # the time in which the ranks of a resumable job save and end
SIGNAL_S = 2 * GRACE_S  # such a job gets a signal this long before its time limit
LEAST_RESUME_MINUTES = 5  # the signal may come a minute earlier, and some work should get done
NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
MEMORY = re.compile(r"\d+[KMGT]?")
FEATURES = re.compile(r"[\w.&|,:*()\[\]-]+")
SITE_LINES = (
    "# Create the folder runs first: Slurm ends a job whose output file it cannot open.",
    "# Your site's own lines go here, such as module load, or source .venv/bin/activate.",
)
METRICS = 'export COURSE_METRICS_FILE="runs/$SLURM_JOB_NAME-$SLURM_JOB_ID.jsonl"'
ADDRESS = (
    "",
    "# Where the ranks meet: the address by which Slurm itself reaches the job's first node, "
    "and a port of this job's own,",
    "# below those that Linux gives to outgoing connections.",
    'first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
    'address=$(scontrol --oneliner show node "$first" '
    r"| grep -oP 'NodeAddr=\K\S+')",
    "export MASTER_ADDR=${address:-$first}",
    "export MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))",
)


@dataclass(frozen=True)
class Request:
    """A request for a job: `script` (a path and its arguments), started by `strategy`.

    It asks for `nodes` nodes with `gpus` GPUs each. Each GPU gets `cores_per_gpu` cores (data
    loaders need several), and each node `memory`, such as ``200G`` (``0`` is all that it has).
    Slurm ends the job after `minutes`. Some clusters require an `account` to charge, or a `qos`;
    `constraint` names features that the nodes must have, such as ``h100``.

    With `resume` the job gets a signal two minutes before its time limit. Its ranks save, and the
    job goes back into the queue, as it does when a node dies. The script must then continue from
    its checkpoint.

    Raises `CourseError` if a value is invalid.
    """

    script: str
    strategy: str = "torchrun"
    nodes: int = 1
    gpus: int = 1
    minutes: int = 10
    name: str = ""
    partition: str = ""
    account: str = ""
    qos: str = ""
    reservation: str = ""
    constraint: str = ""
    memory: str = ""
    cores_per_gpu: int = 8
    resume: bool = False

    def __post_init__(self) -> None:
        self._check_numbers()
        self._check_strategy()
        if not self._script_words() or not self._script_words()[0].endswith(".py"):
            raise CourseError(
                "script must be a Python file and its arguments, such as src/train.py, "
                f"not {self.script!r}."
            )
        self._check_words()
        if self.resume and self.minutes < LEAST_RESUME_MINUTES:
            raise CourseError(
                f"A job that resumes gets a signal {SIGNAL_S // 60} minutes before its end: "
                f"give it {LEAST_RESUME_MINUTES} minutes or more, not {self.minutes}."
            )

    def _check_words(self) -> None:
        for field in ("name", "partition", "account", "qos", "reservation"):
            value = getattr(self, field)
            if value and not NAME.fullmatch(value):
                raise CourseError(
                    f"{field} must be one word of letters, digits, '.', '_' and '-', not {value!r}."
                )
        if self.memory and not MEMORY.fullmatch(self.memory):
            raise CourseError(
                f"memory must be a number and K, M, G or T, such as 200G, not {self.memory!r}."
            )
        if self.constraint and not FEATURES.fullmatch(self.constraint):
            raise CourseError(
                "constraint must be a feature of nodes, or several joined by & (and) or | (or), "
                f"not {self.constraint!r}."
            )

    def _check_numbers(self) -> None:
        for field in ("nodes", "gpus", "minutes", "cores_per_gpu"):
            value = getattr(self, field)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise CourseError(f"{field} must be a whole number of 1 or more, not {value!r}.")

    def _check_strategy(self) -> None:
        if self.strategy not in STRATEGIES:
            raise CourseError(
                f"There is no strategy {self.strategy!r}. Choose one of {', '.join(STRATEGIES)}."
            )
        start = STRATEGIES[self.strategy]
        if self.nodes > start.most_nodes:
            raise CourseError(
                f"{self.strategy} is {start.description}: "
                "ask for 1 node, or choose another strategy."
            )

    @property
    def title(self) -> str:
        """The job's name: its own, or the script's."""
        return self.name or re.sub(r"\.py$", "", self._script_words()[0].rpartition("/")[2])

    def text(self) -> str:
        """The whole file, for ``sbatch``."""
        start = STRATEGIES[self.strategy]
        tasks = self.gpus if start.task_per_gpu else 1  # on each node
        cores = self.cores_per_gpu * self.gpus // tasks
        lines = ["#!/bin/bash", f"# {start.description[0].upper()}{start.description[1:]}."]
        lines += [f"#SBATCH {option}" for option in self._options(tasks, cores)]
        lines += [*SITE_LINES, "", f"{METRICS}   # what `log` writes"]
        lines += [f"export OMP_NUM_THREADS={self.cores_per_gpu}"]
        if start.needs_address:
            lines += ADDRESS
        # From Slurm 22.05 on, srun does not take this from the options above.
        lines += ["", *self._command(start.command(self, f"srun --cpus-per-task={cores}"))]
        return "\n".join(lines) + "\n"

    def _options(self, tasks: int, cores: int) -> list[str]:
        """The ``#SBATCH`` options, with this many `tasks` per node and `cores` per task."""
        optional = {
            "partition": self.partition,
            "account": self.account,
            "qos": self.qos,
            "reservation": self.reservation,
            "constraint": self.constraint,
            "mem": self.memory,
        }
        options = [
            f"--job-name={self.title}",
            *(f"--{name}={value}" for name, value in optional.items() if value),
            f"--nodes={self.nodes}",
            f"--ntasks-per-node={tasks}",
            f"--gpus-per-node={self.gpus}",
            f"--cpus-per-task={cores}",
            f"--time={self.minutes // 60:02}:{self.minutes % 60:02}:00",
            "--output=runs/%x-%j.out",
        ]
        if self.resume:
            options += ["--requeue", "--open-mode=append", f"--signal=B:USR1@{SIGNAL_S}"]
        return options

    def _script_words(self) -> list[str]:
        try:
            return shlex.split(self.script)
        except ValueError:
            return []

    def _command(self, command: list[str]) -> list[str]:
        if not self.resume:
            return command
        return [
            "# Slurm sends USR1 when the time is nearly up. "
            "The ranks then get SIGTERM and save; when they have ended,",
            f"# or after {GRACE_S} s, the job goes back into the queue.",
            f"export TORCH_ELASTIC_SHUTDOWN_TIMEOUT={GRACE_S}   # torchrun would wait 30 s",
            'trap \'scancel --signal=TERM "$SLURM_JOB_ID"; '
            f"sleep {GRACE_S} & wait -n; "
            'scontrol requeue "$SLURM_JOB_ID"\' USR1',
            *command[:-1],
            f"{command[-1]} &",
            "wait $!",
        ]


@dataclass(frozen=True)
class StartMethod:
    """A way to start the processes: its `description`, and a function that returns its `command`.

    It can use up to `most_nodes` nodes. If it `needs_address`, the processes find each other by
    MASTER_ADDR. Slurm starts one task per GPU if `task_per_gpu` is true, otherwise one per node.
    """

    description: str
    command: Callable[[Request, str], list[str]]
    most_nodes: float = math.inf
    needs_address: bool = False
    task_per_gpu: bool = False


def _one(request: Request, srun: str) -> list[str]:
    return [f"{srun} python -u {request.script}"]


def _standalone(request: Request, srun: str) -> list[str]:
    return [f"{srun} torchrun --standalone --nproc-per-node {request.gpus} {request.script}"]


def _agents(request: Request, srun: str) -> list[str]:
    return _in_each_task(
        srun,
        "torchrun --nnodes $SLURM_NNODES --node-rank $SLURM_NODEID "
        f"--nproc-per-node {request.gpus}",
        "--master-addr $MASTER_ADDR --master-port $MASTER_PORT",
        request.script,
    )


def _accelerate(request: Request, srun: str) -> list[str]:
    ranks = request.nodes * request.gpus
    several = " --multi_gpu" if ranks > 1 else ""  # accelerate refuses that for one process
    return _in_each_task(
        srun,
        f"accelerate launch{several} --mixed_precision no --dynamo_backend no",
        f"--num_machines $SLURM_NNODES --machine_rank $SLURM_NODEID --num_processes {ranks}",
        "--main_process_ip $MASTER_ADDR --main_process_port $MASTER_PORT",
        request.script,
    )


def _tasks(request: Request, srun: str) -> list[str]:
    return _in_each_task(
        srun,
        "RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID",
        f"LOCAL_WORLD_SIZE=$SLURM_NTASKS_PER_NODE exec python -u {request.script}",
    )


def _in_each_task(srun: str, *parts: str) -> list[str]:
    """The lines of a command in which each of srun's tasks expands its own variables."""
    quoted = [part.replace("'", "'\\''") for part in parts]
    return f"{srun} bash -c '{CONTINUED.join(quoted)}'".splitlines()


STRATEGIES = {
    "one_process": StartMethod(
        "one process, which sees all the GPUs of one node", _one, most_nodes=1
    ),
    "standalone": StartMethod(
        "torchrun on one node, which starts a process for each GPU", _standalone, most_nodes=1
    ),
    "torchrun": StartMethod(
        "a torchrun agent on each node, which starts a process for each GPU",
        _agents,
        needs_address=True,
    ),
    "accelerate": StartMethod(
        "accelerate on each node, which starts a process for each GPU",
        _accelerate,
        needs_address=True,
    ),
    "tasks": StartMethod(
        "a process for each GPU, started by Slurm itself",
        _tasks,
        needs_address=True,
        task_per_gpu=True,
    ),
}
