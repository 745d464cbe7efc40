"""In the client: where a run takes place, which is this machine unless it is a sandbox."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from course.core import METRICS_FILE
from course.launch import connect, process_tree, run_folder
from course.launch.channel import Channel
from course.launch.messages import SupervisorStarted
from course.launch.netns import Host
from course.launch.run import Run


class Place(Protocol):
    """What `launch` needs from a place; `host` is a separate network on this machine."""

    host: Host | None

    def env(self, metrics: Path) -> Mapping[str, str]:
        """The environment variables of a run; `metrics` is the file to which it logs."""

    def cwd(self) -> str:
        """The folder in which the command starts."""

    def log_dir(self, folder: Path) -> str:
        """The folder for the run's log files; `folder` is the run's own, on this machine."""

    def connect(self) -> Channel:
        """A channel to a new supervisor; raises `CourseError` if there is none."""

    def connect_again(self) -> Channel | None:
        """Another channel, if the first supervisor died before it served; None if there is none."""

    @property
    def too_large(self) -> bool:
        """Whether the processes there hold more memory than they may."""

    def end(self, supervisor: SupervisorStarted | None, run: Run) -> None:
        """Kill what is left of a run whose supervisor was killed or is stuck."""


class Here:
    """This machine, with the environment and the folder of this process."""

    too_large = False

    def __init__(self, host: Host | None = None) -> None:
        self.host = host

    def env(self, metrics: Path) -> Mapping[str, str]:
        """The environment of this process."""
        return {**os.environ, METRICS_FILE: str(metrics)}

    def cwd(self) -> str:
        """The folder of this process."""
        return os.getcwd()

    def log_dir(self, folder: Path) -> str:
        """The run's own folder."""
        return str(folder)

    def connect(self) -> Channel:
        """A channel to a supervisor that is forked from the warm server, or a new process."""
        return connect.new_supervisor()

    def connect_again(self) -> Channel | None:
        """A channel to a supervisor that is a new process."""
        return connect.new_cold_supervisor()

    def end(self, supervisor: SupervisorStarted | None, run: Run) -> None:
        """Kill the supervisor and the ranks, unless other processes now have their ids."""
        known = [(supervisor.pid, supervisor.created)] if supervisor else []
        for pid, created in (*known, *run.processes.values()):
            if process := process_tree.still_the_same(pid, created):
                process_tree.kill_tree(process)
        run_folder.mark_finished(run.log_dir)
