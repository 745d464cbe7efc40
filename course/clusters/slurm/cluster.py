"""A cluster as a learner uses it: see who holds what, submit, reserve, look back."""

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from course.clusters.slurm import board, reasons, records
from course.clusters.slurm.batch import Request
from course.clusters.slurm.commands import Commands, Refused
from course.clusters.slurm.recording import Recording
from course.clusters.slurm.records import Job, Node, Partition, Reservation
from course.clusters.slurm.submitted import SubmittedJob
from course.core import CourseError, words
from course.drawing import Picture

HISTORY = ("JobID", "JobName", "User", "State", "Start", "End", "NNodes", "AllocTRES", "ExitCode")


class Cluster:
    """A cluster with Slurm; `commands` runs Slurm's commands, or replays a recording of them."""

    def __init__(self, commands: Commands) -> None:
        self.commands = commands

    # -- looking -----------------------------------------------------------------------------------

    def nodes(self) -> list[Node]:
        """The nodes of the cluster."""
        return records.nodes(self.commands.run("scontrol", "--oneliner", "show", "nodes"))

    def partitions(self) -> list[Partition]:
        """The partitions of the cluster: its queues."""
        return records.partitions(self.commands.run("scontrol", "--oneliner", "show", "partitions"))

    def reservations(self) -> list[Reservation]:
        """The reservations: which nodes are kept free, for whom and when."""
        return records.reservations(
            self.commands.run("scontrol", "--oneliner", "show", "reservations")
        )

    def jobs(self) -> list[Job]:
        """The jobs that run or wait, in the order of their numbers."""
        entries = json.loads(self.commands.run("squeue", "--json"))["jobs"]
        return sorted(
            (job for job in map(records.job, entries) if not job.ended), key=lambda job: job.id
        )

    def board(self, mine: int | None = None) -> Picture:
        """Draw every GPU over time: which job holds it and until when, and what is reserved.

        The job with the number `mine` stands out.
        """
        return board.live(
            self.nodes(),
            self.jobs(),
            self.reservations(),
            self.commands.now(),
            mine=mine,
            note=self.commands.recorded,
        )

    def holders(self) -> pd.DataFrame:
        """A table of the jobs: which GPUs each holds or wants, until when, and why it waits."""
        now = self.commands.now()
        rows = [
            {
                "job": job.id,
                "user": job.user,
                "name": job.name,
                "state": job.state.lower(),
                "nodes": ",".join(job.nodes) or job.node_count,
                "GPUs per node": job.gpus_per_node,
                "ends, or starts": reasons.when(job, now),
                "why it waits": reasons.why(job),
            }
            for job in self.jobs()
        ]
        return pd.DataFrame(rows)

    def history(self, days: int = 7) -> pd.DataFrame:
        """A table of the jobs of the last `days` days, from Slurm's accounting.

        Without accounting it has the jobs that the controller still remembers.
        """
        since = time.strftime("%Y-%m-%d", time.localtime(self.commands.now() - 86400 * days))
        options = ("--allocations", "--parsable2", "--noheader", f"--starttime={since}")
        try:
            text = self.commands.run("sacct", *options, f"--format={','.join(HISTORY)}")
        except Refused as refusal:
            if "accounting storage is disabled" not in refusal.stderr:
                raise
            return self._controller_history()
        rows = [dict(zip(HISTORY, line.split("|"), strict=True)) for line in text.splitlines()]
        for row in rows:
            for name in ("Start", "End"):  # a word, such as Unknown, if there is none yet
                row[name] = _time_text(float(row[name])) if row[name].isdigit() else ""
        return pd.DataFrame(rows, columns=HISTORY).set_index("JobID")

    def _controller_history(self) -> pd.DataFrame:
        """A table of the jobs that the controller remembers: ended jobs only for MinJobAge."""
        answer = self.commands.run("squeue", "--json", "--states=all")
        jobs = map(records.job, json.loads(answer)["jobs"])
        rows = [
            {
                "JobID": job.id,
                "JobName": job.name,
                "User": job.user,
                "State": job.state,
                "Start": _time_text(job.start),
                "End": _time_text(job.end),
                "NNodes": job.node_count,
                "Restarts": job.restarts,
                "ExitCode": f"{job.exit_code}:{job.signal}",
            }
            for job in sorted(jobs, key=lambda job: job.id)
        ]
        table = pd.DataFrame(rows) if rows else pd.DataFrame(columns=HISTORY)
        return table.set_index("JobID")

    # -- doing -------------------------------------------------------------------------------------

    def check(self, request: Request) -> None:
        """Raise `CourseError` if the cluster could never run the request.

        Slurm itself might let such a job wait forever.
        """
        partition = self._partition(request.partition)
        self._check_size(request, partition)
        if partition.max_minutes is not None and request.minutes > partition.max_minutes:
            raise CourseError(
                f"Jobs in {partition.name} may take {partition.max_minutes} minutes, "
                f"not {request.minutes}: ask for less time, and resume from a checkpoint."
            )
        if request.reservation:
            self._check_reservation(request.reservation)

    def _check_size(self, request: Request, partition: Partition) -> None:
        servers = [node for node in self.nodes() if node.name in partition.nodes]
        most = max((node.gpus for node in servers), default=0)
        if request.gpus > most:
            raise CourseError(
                f"No node of {partition.name} has {request.gpus} GPUs (they have up to {most}): "
                "ask for fewer per node."
            )
        enough = [node for node in servers if node.gpus >= request.gpus]
        if request.nodes > len(enough):
            raise CourseError(
                f"{partition.name} has {words.plural(len(enough), 'node')} "
                f"with {words.plural(request.gpus, 'GPU')} or more, not {request.nodes}: "
                "ask for fewer nodes."
            )

    def _check_reservation(self, name: str) -> None:
        known = [reservation.name for reservation in self.reservations()]
        if name not in known:
            raise CourseError(
                f"There is no reservation {name!r} here. "
                f"This cluster has {', '.join(known) or 'none'}."
            )

    def submit(self, request: Request) -> SubmittedJob:
        """Submit a job from this folder; raises `CourseError` if it could never run."""
        script = request.script.split()[0]
        if not self.commands.recorded and not Path(script).is_file():
            raise CourseError(
                f"There is no script {script} in {os.getcwd()}: run the cell that writes it."
            )
        self.check(request)
        if not self.commands.recorded:
            # Without it Slurm could not open the log, and would end the job silently.
            Path("runs").mkdir(exist_ok=True)
        answer = self.commands.run("sbatch", "--parsable", stdin=request.text())
        return self.job(int(re.match(r"\d+", answer)[0]))

    def job(self, number: int) -> SubmittedJob:
        """The job with this number."""
        return SubmittedJob(self.commands, number)

    def reserve(
        self, name: str, nodes: str, start: str, minutes: int, users: str | None = None
    ) -> Reservation:
        """Reserve `nodes`, such as ``node[1-2]``, for `users`, separated by commas (default: you).

        `start` is a time in Slurm's syntax, such as ``now+1hour`` or ``2026-12-01T09:00``. Only an
        operator of the cluster may do this; raises `CourseError` if Slurm refuses.
        """
        users = users or os.environ.get("USER") or "root"
        self.commands.run(
            "scontrol",
            "create",
            f"reservation={name}",
            f"nodes={nodes}",
            f"starttime={start}",
            f"duration={minutes}",
            f"users={users}",
        )
        return next(reservation for reservation in self.reservations() if reservation.name == name)

    def _partition(self, name: str) -> Partition:
        known = self.partitions()
        for partition in known:
            if partition.name == name or (not name and partition.default):
                return partition
        names = ", ".join(f"{p.name} (the default)" if p.default else p.name for p in known)
        if not name:
            raise CourseError(f"This cluster has no default partition: name one of {names}.")
        raise CourseError(f"There is no partition {name!r} here. Choose one of {names}.")

    def __repr__(self) -> str:
        nodes = self.nodes()
        gpus = sum(node.gpus for node in nodes)
        held = sum(len(held) for job in self.jobs() for held in job.gpus.values())
        about = f"{len(nodes)} nodes, {gpus} GPUs, of which {held} are held"
        return f"{self.commands.recorded} {about}" if self.commands.recorded else f"Slurm: {about}"


def connect(find: Callable[[], Commands] = Commands) -> Cluster:
    """Connect to the cluster that this machine belongs to.

    If no Slurm answers, return a recording of a cluster, which says that it is one.
    """
    commands = find()
    try:
        commands.run("scontrol", "ping")
    except CourseError:
        return Cluster(Recording.load())
    return Cluster(commands)


def _time_text(when: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(when)) if when else ""
