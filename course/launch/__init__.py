"""Run a torchrun, accelerate or python command as supervised ranks.

A run involves five kinds of processes. At the top is the client: a notebook's kernel, or a program
that calls `launch`. The docstring of each file names the process that runs it, and `messages`
defines what the processes send one another.

    client           client, place, connect, run, stacks, out_of_memory; sandbox, for untrusted code
    warm server      warm_server, warm_imports, huge_pages: imports the libraries, forks the rest
    supervisor       supervisor, phases, processes, child, shadowed, output: watches over one run,
                     and ends it
    launcher         launcher, rank_handles: torch's elastic agent, or accelerate's launcher
    rank             forked: runs the script as `__main__`
"""

from course.launch.client import Watch, launch
from course.launch.connect import warm_ranks_promised, warm_up
from course.launch.messages import (
    Done,
    Event,
    Lines,
    Logged,
    Note,
    Progress,
    RankEnded,
    RankStarted,
    Reason,
    RunEnded,
    SupervisorStarted,
)
from course.launch.netns import Host
from course.launch.place import Here
from course.launch.process_tree import kill_tree, still_the_same
from course.launch.run import ABORTED, RAISED, TRACEBACK, Line, Run, brief
from course.launch.sandbox import Sandbox
from course.launch.warm_imports import SINGLE_THREADED

__all__ = [
    "ABORTED",
    "RAISED",
    "SINGLE_THREADED",
    "TRACEBACK",
    "Done",
    "Event",
    "Here",
    "Host",
    "Line",
    "Lines",
    "Logged",
    "Note",
    "Progress",
    "RankEnded",
    "RankStarted",
    "Reason",
    "Run",
    "RunEnded",
    "Sandbox",
    "SupervisorStarted",
    "Watch",
    "brief",
    "kill_tree",
    "launch",
    "still_the_same",
    "warm_ranks_promised",
    "warm_up",
]
