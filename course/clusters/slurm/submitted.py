"""Follow a submitted job: its state, its log, its curves, its end."""

import json
import time

import pandas as pd

from course.charts import live_curves
from course.clusters.slurm import reasons, records
from course.clusters.slurm.commands import Commands, Refused
from course.clusters.slurm.records import Job
from course.core import CourseError, words
from course.drawing import Picture
from course.notebook import CurvesDisplay

POLL_S = 1.0
SHOWN_LINES = 5


class SubmittedJob:
    """The job with this `number`, as `Cluster.submit` and `Cluster.job` return it."""

    def __init__(self, commands: Commands, number: int) -> None:
        self._commands, self.number = commands, number

    @property
    def now(self) -> Job:
        """The job's current record in the queue; raises `CourseError` if Slurm does not know it."""
        try:
            answer = self._commands.run("squeue", "--json", "--states=all", f"--jobs={self.number}")
        except Refused as refusal:
            if "Invalid job id" not in refusal.stderr:
                raise
            answer = '{"jobs": []}'
        jobs = [
            job for job in map(records.job, json.loads(answer)["jobs"]) if job.id == self.number
        ]
        if not jobs:
            raise CourseError(
                f"Slurm's controller knows no job {self.number}: "
                "look for it in history(), or check the number."
            )
        return jobs[-1]

    def cancel(self) -> None:
        """End the job, or remove it from the queue."""
        self.now  # noqa: B018  scancel is silent about a job that does not exist
        self._commands.run("scancel", str(self.number))

    def log(self) -> str:
        """The output of its processes so far; raises `CourseError`, with why, if there is none."""
        job = self.now
        text = self._commands.read(job.output)
        if text is not None:
            return text
        if job.state == "PENDING":
            raise CourseError(
                f"Job {self.number} has no log yet: it waits, since {reasons.why(job)}."
            )
        if not job.ended:
            raise CourseError(
                f"The log of job {self.number} is not there yet: {job.output}. "
                "Try again in a moment."
            )
        raise CourseError(
            f"Job {self.number} ({job.state.lower()}, {job.reason}) left no log {job.output}."
        )

    @property
    def metrics(self) -> pd.DataFrame:
        """The rows that its ranks have logged so far."""
        return pd.DataFrame(self._rows())

    def curves(self) -> Picture | None:
        """The picture of its curves so far; None before the first row."""
        return live_curves.draw(self._rows())

    def follow(self, limit: float = 600.0, show: bool = True, until: str = "") -> Job:
        """Watch the job until it ends or reaches the state `until`, such as "RUNNING".

        This takes at most `limit` seconds. It shows the changes of the job's state, its curves,
        and at the end the last lines of its log. It stops at once if the job can never start.
        """
        display = _JobDisplay() if show else None
        end = self._commands.now() + limit
        while True:
            job = self.now
            if display:
                display.print_change(story(job, self._commands.now()), self._commands.now())
                display.curves.show(self._rows(), {}, ended=job.state == "COMPLETED")
            if job.state == until:
                return job
            if job.ended or reasons.never_starts(job) or self._commands.now() >= end:
                break
            self._commands.pause(POLL_S)
        if display:
            self._show_end(job)
        return job

    def _show_end(self, job: Job) -> None:
        """Show the last lines of the log, or why there are none."""
        if reasons.never_starts(job):
            print(f"It will never start: cancel it with scancel {self.number}, and ask for less.")
        elif not job.ended:
            print(f"Job {self.number} goes on without being watched.")
        text = self._commands.read(job.output)
        if text:
            print("\n".join(text.rstrip().splitlines()[-SHOWN_LINES:]))

    def _rows(self) -> list[dict]:
        path = self.now.output.removesuffix(".out") + ".jsonl"
        return [
            json.loads(line)
            for line in (self._commands.read(path) or "").splitlines()
            if line.endswith("}")
        ]

    def __repr__(self) -> str:
        return story(self.now, self._commands.now())


class _JobDisplay:
    """The output of a cell that follows a job: a line for every change, and the curves."""

    def __init__(self) -> None:
        self.curves = CurvesDisplay()
        self._line = ""

    def print_change(self, line: str, now: float) -> None:
        """Print the line and the time, unless it is the same as the last one."""
        if _stable_part(line) != _stable_part(self._line):
            print(f"{time.strftime('%H:%M:%S', time.localtime(now))}  {line}")
            self._line = line


def _stable_part(line: str) -> str:
    """The part of a line that does not change from second to second."""
    return line.partition(";")[0]


def story(job: Job, now: float) -> str:
    """Describe a job in one line: its state, where it runs and for how long, or why it waits."""
    restarts = f", after {words.plural(job.restarts, 'restart')}" if job.restarts else ""
    if job.state == "PENDING":
        expected = f"; expected to start {reasons.when(job, now)}" if job.start > now else ""
        return f"job {job.id} waits: {reasons.why(job)}{expected}{restarts}"
    if job.state == "RUNNING":
        where = ", ".join(job.nodes)
        return f"job {job.id} runs on {where}{restarts}; its time ends {reasons.when(job, now)}"
    duration = ""
    if job.end > job.start > 0:
        duration = f" after {words.long_duration(job.end - job.start)}"
    code = f", exit code {job.exit_code}" if job.exit_code else ""
    signal = f", ended by signal {job.signal}" if job.signal else ""
    return f"job {job.id} is {job.state.lower()}{duration}{restarts}{code}{signal}"
