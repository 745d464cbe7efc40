"""One job in your hands: its state, its log, its curves, its end."""

import json
import time

import pandas as pd
from IPython.display import DisplayHandle, display

from course.charts import live_curves
from course.clusters.slurm import reasons, records
from course.clusters.slurm.commands import Refused, Tools
from course.clusters.slurm.records import Job
from course.core import CourseError

POLL_S = 1.0
SHOWN_LINES = 5


class Handle:
    """The job of that `number`."""

    def __init__(self, tools: Tools, number: int) -> None:
        self._tools, self.number = tools, number

    @property
    def now(self) -> Job:
        """What the queue says of it now; raises `CourseError` where Slurm does not know it (any more)."""
        try:
            answer = self._tools.run("squeue", "--json", "--states=all", f"--jobs={self.number}")
        except Refused as refusal:
            if "Invalid job id" not in refusal.said:
                raise
            answer = '{"jobs": []}'
        found = [
            job for job in map(records.job, json.loads(answer)["jobs"]) if job.id == self.number
        ]
        if not found:
            raise CourseError(
                f"Slurm's controller knows no job {self.number}: look for it in history(), or check the number."
            )
        return found[-1]

    def cancel(self) -> None:
        """End it, or take it out of the queue."""
        self.now  # noqa: B018  scancel is silent about a job that there is not
        self._tools.run("scancel", str(self.number))

    def log(self) -> str:
        """What its processes printed so far; raises `CourseError` where there is no log yet, saying why."""
        job = self.now
        text = self._tools.read(job.output)
        if text is None and job.state == "PENDING":
            raise CourseError(
                f"Job {self.number} has no log yet: it waits, since {reasons.why(job)}."
            )
        if text is None and not job.ended:
            raise CourseError(
                f"The log of job {self.number} is not there yet: {job.output}. Try again in a moment."
            )
        if text is None:
            raise CourseError(
                f"Job {self.number} ({job.state.lower()}, {job.reason}) left no log {job.output}."
            )
        return text

    @property
    def metrics(self) -> pd.DataFrame:
        """The rows that its ranks logged so far."""
        return pd.DataFrame(self._rows())

    def curves(self) -> live_curves.svg.Picture | None:
        """Its curves so far; None before the first row."""
        return live_curves.draw(self._rows())

    def follow(self, limit: float = 600.0, show: bool = True, until: str = "") -> Job:
        """Watch it until it ends, is in the state `until` (such as "RUNNING"), or for `limit` seconds.

        Shown are the changes of its state, its curves, and its last lines when it has ended.
        """
        said, handle = "", None
        end = self._tools.now() + limit
        while True:
            job = self.now
            line = story(job, self._tools.now())
            if show and _gist(line) != _gist(said):
                print(f"{time.strftime('%H:%M:%S', time.localtime(self._tools.now()))}  {line}")
                said = line
            if show:
                handle = self._draw(handle)
            if job.state == until:
                return job
            if job.ended or reasons.hopeless(job) or self._tools.now() >= end:
                break
            self._tools.pause(POLL_S)
        if show:
            self._close(job)
        return job

    def _draw(self, handle: DisplayHandle | None) -> DisplayHandle | None:
        picture = self.curves()
        if picture is None:
            return handle
        if handle is None:
            return display(picture, display_id=True)
        handle.update(picture)
        return handle

    def _close(self, job: Job) -> None:
        """The last lines of the log, or why nothing more comes."""
        if reasons.hopeless(job):
            print(f"It will never start: cancel it with scancel {self.number}, and ask for less.")
        elif not job.ended:
            print(f"Job {self.number} goes on without being watched.")
        text = self._tools.read(job.output)
        if text:
            print("\n".join(text.rstrip().splitlines()[-SHOWN_LINES:]))

    def _rows(self) -> list[dict]:
        path = self.now.output.removesuffix(".out") + ".jsonl"
        return [
            json.loads(line)
            for line in (self._tools.read(path) or "").splitlines()
            if line.endswith("}")
        ]

    def __repr__(self) -> str:
        return story(self.now, self._tools.now())


def story(job: Job, now: float) -> str:
    """One line on a job: what it does, where, for how long, why not yet."""
    again = f", after {job.restarts} restart{'s' * (job.restarts > 1)}" if job.restarts else ""
    if job.state == "PENDING":
        expected = f"; expected to start {reasons.when(job, now)}" if job.start > now else ""
        return f"job {job.id} waits: {reasons.why(job)}{expected}{again}"
    if job.state == "RUNNING":
        return f"job {job.id} runs on {', '.join(job.nodes)}{again}; its time ends {reasons.when(job, now)}"
    took = f" after {reasons.span(job.end - job.start)}" if job.end > job.start > 0 else ""
    code = f", exit code {job.exit_code}" if job.exit_code else ""
    return f"job {job.id} is {job.state.lower()}{took}{again}{code}"


def _gist(line: str) -> str:
    """The line without what changes from second to second."""
    return line.partition(";")[0]
