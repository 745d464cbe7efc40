"""Parse the output of Slurm's commands into plain records.

Nodes, partitions and reservations come from `scontrol`, and jobs from `squeue --json`, in the
formats of Slurm 21.08 and later. `squeue --json` has changed once: since 23.11 a number is
``{"set": true, "infinite": false, "number": 5}`` and a state is a list. Both forms are parsed.
"""

import re
from dataclasses import dataclass

PAIR = re.compile(r"(?:^|\s)([A-Z][\w:/]*)=")  # where a field begins in `scontrol --oneliner`
GPUS = re.compile(r"\bgpu(?::[^:,(=\s]+)?[:=](\d+)")  # gpu:4, gpu:h100:4(IDX:0-3), gres/gpu=4
INDICES = re.compile(r"IDX:([\d,-]+)")
ENDED = {
    "COMPLETED",
    "FAILED",
    "CANCELLED",
    "TIMEOUT",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "BOOT_FAIL",
    "DEADLINE",
    "PREEMPTED",
}
# The states in which a node runs no jobs.
OUT_OF_SERVICE = ("DOWN", "DRAIN", "FAIL", "NOT_RESPONDING", "UNKNOWN")


@dataclass(frozen=True)
class Node:
    """A node: its number of GPUs and its state; `reason` is why it is out of service, if it is."""

    name: str
    state: str
    gpus: int
    partitions: tuple[str, ...]
    reason: str = ""

    @property
    def up(self) -> bool:
        """Whether jobs can run on it."""
        return not any(word in self.state for word in OUT_OF_SERVICE)


@dataclass(frozen=True)
class Partition:
    """A queue: its nodes, and the longest time of its jobs in minutes (None: no limit)."""

    name: str
    default: bool
    nodes: tuple[str, ...]
    max_minutes: int | None


@dataclass(frozen=True)
class Reservation:
    """Nodes kept free for some users; times in seconds since the epoch."""

    name: str
    nodes: tuple[str, ...]
    start: float
    end: float
    users: str


@dataclass(frozen=True)
class Job:
    """A job in the queue; times are in seconds since the epoch, or 0 if they are not known yet.

    `gpus` has the indices of the GPUs that it holds on each of its nodes, known while it runs, and
    `gpus_per_node` is what it asked for. `start` and `end` of a job that waits are what the
    scheduler expects. `signal` is the number of the signal that ended it, 0 if none did.
    """

    id: int
    name: str
    user: str
    partition: str
    state: str
    reason: str
    nodes: tuple[str, ...]
    node_count: int
    gpus_per_node: int
    gpus: dict[str, tuple[int, ...]]
    submitted: float
    start: float
    end: float
    limit_minutes: float | None
    restarts: int
    exit_code: int
    signal: int
    output: str

    @property
    def ended(self) -> bool:
        """Whether it will not run again."""
        return self.state in ENDED


def nodes(text: str) -> list[Node]:
    """Parse the output of ``scontrol --oneliner show nodes``."""
    return [
        Node(
            row["NodeName"],
            row["State"],
            _gpus(row.get("Gres", "")),
            _names(row.get("Partitions", "")),
            row.get("Reason", ""),
        )
        for row in _rows(text, "NodeName")
    ]


def partitions(text: str) -> list[Partition]:
    """Parse the output of ``scontrol --oneliner show partitions``."""
    return [
        Partition(
            row["PartitionName"],
            row.get("Default") == "YES",
            expand(row.get("Nodes", "")),
            _minutes(row.get("MaxTime", "UNLIMITED")),
        )
        for row in _rows(text, "PartitionName")
    ]


def reservations(text: str) -> list[Reservation]:
    """Parse the output of ``scontrol --oneliner show reservations``.

    SLURM_TIME_FORMAT must ask for times in seconds since the epoch.
    """
    return [
        Reservation(
            row["ReservationName"],
            expand(row.get("Nodes", "")),
            float(row["StartTime"]),
            float(row["EndTime"]),
            row.get("Users", ""),
        )
        for row in _rows(text, "ReservationName")
    ]


def job(record: dict) -> Job:
    """Parse one element of the list "jobs" in the output of ``squeue --json``."""
    names = expand(record.get("nodes") or "")
    gpu_details = record.get("gres_detail") or []
    count = int(_number(record.get("node_count")) or len(names) or 1)
    return Job(
        id=int(record["job_id"]),
        name=record.get("name", ""),
        user=record.get("user_name", ""),
        partition=record.get("partition", ""),
        state=_state(record.get("job_state")),
        reason=record.get("state_reason", ""),
        nodes=names,
        node_count=count,
        gpus_per_node=_gpus_per_node(record, count),
        gpus={name: _indices(detail) for name, detail in zip(names, gpu_details, strict=False)},
        submitted=_number(record.get("submit_time")) or 0,
        start=_number(record.get("start_time")) or 0,
        end=_number(record.get("end_time")) or 0,
        limit_minutes=_number(record.get("time_limit")),
        restarts=int(_number(record.get("restart_cnt")) or 0),
        exit_code=_exit_code(record.get("exit_code")),
        signal=_signal(record.get("exit_code")),
        output=_output(record),
    )


def _gpus_per_node(record: dict, nodes: int) -> int:
    """The GPUs that a job asked for on each of its nodes, however it asked."""
    keys = ("tres_per_node", "tres_per_job", "tres_per_task")
    requested = _gpus(" ".join(str(record.get(key) or "") for key in keys))
    for_all_nodes = record.get("tres_per_job") and not record.get("tres_per_node")
    return requested // nodes if for_all_nodes else requested


def expand(hostlist: str) -> tuple[str, ...]:
    """The names in a Slurm host list: ``n[1-3,07],login`` is n1 n2 n3 n07 login."""
    if hostlist in ("", "(null)", "None"):
        return ()
    names: list[str] = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\][^,\[]*)*", hostlist):
        names += _expand_one(part)
    return tuple(names)


def _expand_one(part: str) -> list[str]:
    match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", part)
    if not match:
        return [part]
    before, ranges, after = match.groups()
    numbers = []
    for piece in ranges.split(","):
        low, _, high = piece.partition("-")
        numbers += [str(i).zfill(len(low)) for i in range(int(low), int(high or low) + 1)]
    return [before + number + rest for number in numbers for rest in _expand_one(after)]


def _rows(text: str, first: str) -> list[dict[str, str]]:
    """The lines of `scontrol --oneliner` as dicts; values may hold spaces."""
    rows = []
    for line in text.splitlines():
        pieces = PAIR.split(line)
        row = {key: value.strip() for key, value in zip(pieces[1::2], pieces[2::2], strict=True)}
        if first in row:
            rows.append({key: "" if value == "(null)" else value for key, value in row.items()})
    return rows


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def _gpus(text: str) -> int:
    return sum(int(count) for count in GPUS.findall(text))


def _indices(detail: str) -> tuple[int, ...]:
    indices: list[int] = []
    for ranges in INDICES.findall(detail):
        for piece in ranges.split(","):
            low, _, high = piece.partition("-")
            indices += range(int(low), int(high or low) + 1)
    return tuple(indices)


def _minutes(text: str) -> int | None:
    """The minutes of ``1-00:30:00``, ``30:00`` or ``UNLIMITED``."""
    match = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", text)
    if not match:
        return None
    days, hours, minutes, _ = (int(group or 0) for group in match.groups())
    return (days * 24 + hours) * 60 + minutes


def _number(value: object) -> float | None:
    if isinstance(value, dict):
        return value.get("number") if value.get("set") and not value.get("infinite") else None
    return value if isinstance(value, (int, float)) else None


def _state(value: object) -> str:
    return str(value[0] if isinstance(value, list) else value)


def _exit_code(value: object) -> int:
    if isinstance(value, dict):
        return int(_number(value.get("return_code")) or 0)
    return int(value or 0) >> 8 if isinstance(value, int) else 0


def _signal(value: object) -> int:
    """The signal in an exit code: a field since 23.11, the low bits of the status before."""
    if isinstance(value, dict):
        return int(_number((value.get("signal") or {}).get("id")) or 0)
    return value & 0x7F if isinstance(value, int) else 0


def _output(record: dict) -> str:
    """The path of the job's log, with Slurm's patterns filled in, as squeue does since 24.05."""
    if record.get("stdout_expanded"):
        return record["stdout_expanded"]
    values = {
        "j": record["job_id"],
        "A": record["job_id"],
        "x": record.get("name", ""),
        "u": record.get("user_name", ""),
    }
    return re.sub(
        r"%([jAxu])", lambda match: str(values[match[1]]), record.get("standard_output") or ""
    )
