"""A cluster as a learner uses it: see who holds what, submit, follow, cancel, reserve, look back."""

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from course.clusters.slurm import board, reasons, records
from course.clusters.slurm.batch import Request
from course.clusters.slurm.commands import Refused, Tools
from course.clusters.slurm.recording import Recording
from course.clusters.slurm.records import Job, Node, Partition, Reservation
from course.clusters.slurm.submitted import Handle
from course.core import CourseError
from course.drawing import Picture

HISTORY = ("JobID", "JobName", "User", "State", "Start", "End", "NNodes", "AllocTRES", "ExitCode")


class Cluster:
    """What Slurm's commands tell and do; `tools` runs them, or replays a recording of them."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools

    # -- looking ------------------------------------------------------------------------------------------------------

    def nodes(self) -> list[Node]:
        """The servers."""
        return records.nodes(self.tools.run("scontrol", "--oneliner", "show", "nodes"))

    def partitions(self) -> list[Partition]:
        """The queues."""
        return records.partitions(self.tools.run("scontrol", "--oneliner", "show", "partitions"))

    def reservations(self) -> list[Reservation]:
        """What is kept free, for whom, from when to when."""
        return records.reservations(
            self.tools.run("scontrol", "--oneliner", "show", "reservations")
        )

    def jobs(self) -> list[Job]:
        """The jobs that run or wait, in the order of their numbers."""
        found = json.loads(self.tools.run("squeue", "--json"))["jobs"]
        return sorted(
            (job for job in map(records.job, found) if not job.ended), key=lambda job: job.id
        )

    def board(self, mine: int | None = None) -> Picture:
        """Every GPU over time: who holds it and until when, what is reserved; the job numbered `mine` stands out."""
        return board.live(
            self.nodes(),
            self.jobs(),
            self.reservations(),
            self.tools.now(),
            mine=mine,
            note=self.tools.recorded,
        )

    def holders(self) -> pd.DataFrame:
        """Who holds or wants which GPUs, until when, or why not yet."""
        now = self.tools.now()
        return pd.DataFrame(
            [
                {
                    "job": job.id, "user": job.user, "name": job.name, "state": job.state.lower(),
                    "nodes": ",".join(job.nodes) or job.node_count, "GPUs a node": job.gpus_per_node,
                    "frees, or starts": reasons.when(job, now), "why it waits": reasons.why(job),
                }
                for job in self.jobs()
            ]
        )  # fmt: skip

    def history(self, days: int = 7) -> pd.DataFrame:
        """Jobs of the last days: from the accounting, or what the controller remembers where there is none."""
        try:
            since = time.strftime("%Y-%m-%d", time.localtime(self.tools.now() - 86400 * days))
            words = ("sacct", "--allocations", "--parsable2", "--noheader", f"--starttime={since}")
            text = self.tools.run(*words, f"--format={','.join(HISTORY)}")
        except Refused as refusal:
            if "accounting storage is disabled" not in refusal.said:
                raise
            return self._remembered()
        rows = [dict(zip(HISTORY, line.split("|"), strict=True)) for line in text.splitlines()]
        for row in rows:
            row |= {
                name: _clock(float(row[name])) if row[name].isdigit() else ""
                for name in ("Start", "End")
            }
        return pd.DataFrame(rows, columns=HISTORY).set_index("JobID")

    def _remembered(self) -> pd.DataFrame:
        """The jobs that the controller has not forgotten yet (it keeps ended ones for its MinJobAge)."""
        found = map(
            records.job, json.loads(self.tools.run("squeue", "--json", "--states=all"))["jobs"]
        )
        rows = [
            {
                "JobID": job.id, "JobName": job.name, "User": job.user, "State": job.state,
                "Start": _clock(job.start), "End": _clock(job.end), "NNodes": job.node_count,
                "Restarts": job.restarts, "ExitCode": job.exit_code,
            }
            for job in sorted(found, key=lambda job: job.id)
        ]  # fmt: skip
        return (
            pd.DataFrame(rows).set_index("JobID")
            if rows
            else pd.DataFrame(columns=HISTORY).set_index("JobID")
        )

    # -- doing --------------------------------------------------------------------------------------------------------

    def check(self, request: Request) -> None:
        """Raise `CourseError`, one sentence, where the cluster could never run this; Slurm might queue it for ever."""
        partition = self._partition(request.partition)
        servers = [node for node in self.nodes() if node.name in partition.nodes]
        most = max((node.gpus for node in servers), default=0)
        if request.gpus > most:
            raise CourseError(
                f"No node of {partition.name} has {request.gpus} GPUs (they have up to {most}): ask for fewer a node."
            )
        enough = [node for node in servers if node.gpus >= request.gpus]
        if request.nodes > len(enough):
            nodes, gpus = f"node{'s' * (len(enough) != 1)}", f"GPU{'s' * (request.gpus > 1)}"
            raise CourseError(
                f"{partition.name} has {len(enough)} {nodes} with {request.gpus} {gpus} or more, not {request.nodes}: "
                "ask for fewer nodes."
            )
        if partition.max_minutes is not None and request.minutes > partition.max_minutes:
            raise CourseError(
                f"Jobs in {partition.name} may take {partition.max_minutes} minutes, not {request.minutes}: "
                "ask for less time, and resume from a checkpoint."
            )
        if request.reservation and request.reservation not in (
            known := [r.name for r in self.reservations()]
        ):
            raise CourseError(
                f"There is no reservation {request.reservation!r}; there is {', '.join(known) or 'none at all'}."
            )

    def submit(self, request: Request) -> Handle:
        """Put a job in the queue, from this folder; raises `CourseError` where it could never run."""
        script = request.script.split()[0]
        if not self.tools.recorded and not Path(script).is_file():
            raise CourseError(
                f"There is no script {script} in {os.getcwd()}: run the cell that writes it."
            )
        self.check(request)
        if not self.tools.recorded:
            Path("runs").mkdir(
                exist_ok=True
            )  # without it Slurm could not open the log, and would end the job silently
        answer = self.tools.run("sbatch", "--parsable", given=request.text())
        return self.job(int(re.match(r"\d+", answer)[0]))

    def job(self, number: int) -> Handle:
        """The job of that number."""
        return Handle(self.tools, number)

    def reserve(
        self, name: str, nodes: str, start: str, minutes: int, users: str | None = None
    ) -> Reservation:
        """Keep nodes (``node[1-2]``) free from `start` (``now+1hour``, ``2026-12-01T09:00``) on; takes an operator."""
        users = users or os.environ.get("USER") or "root"
        self.tools.run(
            "scontrol", "create", f"reservation={name}", f"nodes={nodes}", f"starttime={start}", f"duration={minutes}",
            f"users={users}",
        )  # fmt: skip
        return next(found for found in self.reservations() if found.name == name)

    def _partition(self, name: str) -> Partition:
        known = self.partitions()
        for partition in known:
            if partition.name == name or (not name and partition.default):
                return partition
        names = ", ".join(p.name + " (the default)" * p.default for p in known)
        if not name:
            raise CourseError(f"This cluster has no default partition: name one of {names}.")
        raise CourseError(f"There is no partition {name!r} here: there is {names}.")

    def __repr__(self) -> str:
        nodes = self.nodes()
        gpus = sum(node.gpus for node in nodes)
        held = sum(len(held) for job in self.jobs() for held in job.gpus.values())
        about = f"{len(nodes)} nodes, {gpus} GPUs, of which {held} are held"
        return f"{self.tools.recorded} {about}" if self.tools.recorded else f"Slurm: {about}"


def connect(find: Callable[[], Tools] = Tools) -> Cluster:
    """The cluster that this box belongs to; where no Slurm answers, the recording of one, which says so."""
    tools = find()
    try:
        tools.run("scontrol", "ping")
    except CourseError:
        return Cluster(Recording.load())
    return Cluster(tools)


def _clock(when: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(when)) if when else ""
