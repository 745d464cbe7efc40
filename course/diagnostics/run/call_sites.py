"""Find where the threads of a rank stand: at which line of the user, and in which collective."""

import re
from collections.abc import Sequence
from dataclasses import replace

from course.core import call_site
from course.diagnostics.watch.rank_states import RankState
from course.diagnostics.watch.snapshots import ThreadStack

FATAL = re.compile(r"^Fatal Python error: (.*)$", re.MULTILINE)
# What a thread does that waits for something other than a rank. It is known by the end of a file's
# path and a function in that file.
OTHER_WAITS = (
    ("utils/data/dataloader.py", "_try_get_data", "waits for a worker of its DataLoader"),
    ("subprocess.py", "wait", "waits for a program that it started"),
    ("multiprocessing/popen_fork.py", "poll", "waits for a process that it started"),
    ("multiprocessing/connection.py", "wait", "waits for another process"),
    ("queue.py", "get", "waits for a queue"),
    ("threading.py", "join", "waits for another thread"),
    ("threading.py", "wait", "waits for another thread"),
    ("ssl.py", "read", "waits for the network"),
    ("socket.py", "readinto", "waits for the network"),
)


def of_rank(state: RankState) -> call_site.CallSite | None:
    """Where the main thread of a rank stands; None if it is outside the user's code."""
    main = state.snapshot.main_thread
    stack = main.frames if main else []
    if (dump := last_dump(state)) and (state.alive is False or not stack):
        stack = dump
    return of_stack(stack)


def of_other_threads(state: RankState) -> list[call_site.CallSite]:
    """Where threads of a rank other than the main one wait in a collective."""
    sites = [(thread, of_stack(thread.frames)) for thread in state.snapshot.threads[1:]]
    return [replace(site, thread=thread.name) for thread, site in sites if site and site.call]


def of_stack(stack: Sequence[call_site.Frame]) -> call_site.CallSite | None:
    """Where a thread with these frames, innermost first, stands; None outside the user's code."""
    call, depth = call_site.innermost_call(stack)
    if depth == len(stack):
        return None
    file, line, _ = stack[depth]
    site = call_site.CallSite(call, file, line)
    if call:
        return site
    if depth == 0 and ".wait(" in site.source:
        return replace(site, call="wait")
    if depth == 0 and "sleep(" in site.source:
        return replace(site, doing="sleeps")
    return replace(site, doing=next(filter(None, map(_other_wait, reversed(stack[:depth]))), ""))


def _other_wait(frame: call_site.Frame) -> str:
    file, _, function = frame
    return next(
        (doing for end, name, doing in OTHER_WAITS if file.endswith(end) and function == name), ""
    )


def last_dump(state: RankState) -> list[call_site.Frame]:
    """The main thread's frames in the last stacks that the fault handler wrote; [] if none."""
    blocks = re.split(r"\n\s*\n|\n(?=(?:Current thread|Thread) 0x)", state.stacks)
    main = re.compile(rf"(?:Current thread|Thread) 0x{state.snapshot.main}\b")
    dumps = [block for block in blocks if main.match(block)]
    return call_site.frames(dumps[-1]) if dumps else []


def fatal_signal(state: RankState) -> str:
    """The signal that ended a rank, as its fault handler names it ("Aborted"); "" if none did."""
    signals = FATAL.findall(state.stacks)
    return signals[-1] if signals else ""


def thread_with_exception(state: RankState) -> ThreadStack | None:
    """The main thread if it is handling an exception; else None."""
    main = state.snapshot.main_thread
    return main if main and main.error else None
