"""Which waits for a core count as work; two readings of /proc are made up."""

import threading

import pytest

from course.diagnostics.watch import usage

MS = 1_000_000


@pytest.mark.parametrize(
    ("thread", "ran_ms", "times", "counts"),
    [
        ("a worker that others crowd out", 120, 40, True),
        ("Gloo's loop", 2, 95, False),
        ("the thread that asks", 120, 40, False),
    ],
)
def test_a_thread_waits_for_a_core_if_it_has_work(
    monkeypatch: pytest.MonkeyPatch, thread: str, ran_ms: int, times: int, counts: bool
) -> None:
    if thread == "the thread that asks":
        thread = str(threading.get_native_id())
    waits, now = usage.CoreWaits(), {thread: [50 * MS, 7 * MS, 10]}
    monkeypatch.setattr(usage, "_threads", lambda: now)
    waits.since_last()
    now = {thread: [(50 + ran_ms) * MS, (7 + 300) * MS, 10 + times]}
    assert waits.since_last() == (0.3 if counts else 0.0)


def test_the_threads_of_this_process_are_read() -> None:
    assert str(threading.get_native_id()) in usage._threads()
