"""Run a torchrun, accelerate or python command as supervised ranks: the one way to start them.

A run is made of five kinds of processes, from the client down: a notebook's kernel, or a program
that calls `launch`. The docstring of each file says which of them runs it; `messages` has what they
tell one another.

    client           client, place, connect, run, stacks, out_of_memory; sandbox, for code that
                     need not be trusted
    warm server      warm_server, warm_imports, huge_pages: has the libraries, and forks the rest
    supervisor       supervisor, phases, processes, child, shadowed, output: watches over one run,
                     and ends it
    launcher         launcher, rank_handles: torch's own elastic agent, or accelerate's
    rank             forked: runs the script as `__main__`
"""

from course.launch.client import launch
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
    "brief",
    "kill_tree",
    "launch",
    "still_the_same",
    "warm_ranks_promised",
    "warm_up",
]
