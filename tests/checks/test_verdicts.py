"""The messages to a learner whose code fails in a way that no check looks for."""

import faulthandler
import importlib
import multiprocessing
import os
import pickle
import sys
import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from course.checks.runner import on_ranks, session
from course.checks.runner.outcomes import Deadlock, Rejected, UnfitMachine, Unwritten
from course.exercises import Outcome, Report

pytestmark = pytest.mark.usefixtures("warm_ranks")

RING = "def all_reduce(tensor):\n    "


def ends_itself() -> None:
    """Call `sys.exit()`, as a learner's function may do when a check calls it."""
    sys.exit(0)


def is_gone() -> None:
    """Exit at once, with exit code 0."""
    os._exit(0)


def becomes_another() -> None:
    """Replace this process by another program."""
    os.execv(sys.executable, [sys.executable, "-c", ""])


@pytest.mark.parametrize("function", [ends_itself, is_gone, becomes_another])
def test_code_that_ends_its_rank_gives_no_answer(function, tmp_path):
    with pytest.raises(Rejected, match="Your code ended before the check had its answer"):
        on_ranks.CheckRanks(tmp_path).call(1, function)


def builds_on_meeting() -> None:
    """Import an earlier exercise of the lab, as a learner's script may do."""
    importlib.import_module("meeting")


def test_an_exercise_that_is_not_there_yet_is_named(tmp_path):
    with pytest.raises(Unwritten, match=r"another exercise: .*meeting\.py is not there yet"):
        on_ranks.CheckRanks(tmp_path).call(1, builds_on_meeting, alone=True)


def reads_nowhere() -> None:
    """Read from memory that belongs to no tensor."""
    faulthandler._sigsegv()


def test_a_segmentation_fault_is_told_in_words(tmp_path):
    with pytest.raises(Rejected, match="Your code failed: it touched memory that is not its"):
        on_ranks.CheckRanks(tmp_path).call(1, reads_nowhere)


class Attack:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def forge(path: str) -> None:
    """Write an answer that would run code when it is read, and exit."""
    answer = Path(sys.argv[1], f"rank{os.environ['RANK']}")
    answer.write_bytes(pickle.dumps(Attack(Path(path))))
    os._exit(0)


def return_attack(path: str) -> Attack:
    """Return an object that would run code when it is unpickled."""
    return Attack(Path(path))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (forge, "The result of rank 0 cannot be read"),
        (return_attack, "TypeError: a Attack cannot be handed to a check"),
    ],
)
def test_nothing_of_an_answer_is_executed(function, message, tmp_path):
    executed = tmp_path / "executed"
    with pytest.raises(Rejected, match=message):
        on_ranks.CheckRanks(tmp_path).call(1, function, str(executed))
    assert not executed.exists()


def burn(seconds: float) -> None:
    """Compute for this much core time, however long that takes."""
    while time.process_time() < seconds:
        pass


def wait_for_nobody() -> None:
    """Receive a message that is never sent."""
    dist.recv(torch.zeros(1), src=1 - dist.get_rank())


def leaves_a_message_behind() -> None:
    """Begin a collective on one rank only, and do not wait for it."""
    if dist.get_rank() == 0:
        dist.all_reduce(torch.zeros(1), async_op=True)


def burn_on_one_core(seconds: float) -> None:
    """Compute for this much core time, on one core that other processes use as well."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    burn(time.process_time() + seconds)


@pytest.fixture
def busy_core():
    """A core that eight programs share."""
    others = [
        multiprocessing.Process(target=burn_on_one_core, args=(600.0,), daemon=True)
        for _ in range(8)
    ]
    for other in others:
        other.start()
    yield
    for other in others:
        other.kill()
        other.join()


def computes() -> bool:
    """Compute for half a second of core time, on the busy core."""
    burn_on_one_core(0.5)
    return True


def test_the_limit_counts_what_the_machine_gives(tmp_path, busy_core):
    """Ten processes share the core, so the ranks take five seconds, mostly spent waiting for it."""
    assert on_ranks.CheckRanks(tmp_path).call(2, computes, limit=4.0) == [True, True]


def test_ranks_that_wait_for_one_another_are_found_on_a_busy_machine(tmp_path, busy_core):
    limit, problem = 3.0, None
    while not isinstance(problem, Deadlock):
        with pytest.raises((Deadlock, UnfitMachine)) as raised:  # depends on how far they came
            on_ranks.CheckRanks(tmp_path).call(2, wait_for_nobody, limit=limit)
        problem, limit = raised.value, 2 * limit
    assert isinstance(problem, Deadlock) and "rank 0 waits in recv" in str(problem)


def test_ranks_that_return_and_cannot_meet_have_left_a_message_behind(tmp_path):
    with pytest.raises(Deadlock, match="could not meet in a barrier: is a message still on its"):
        on_ranks.CheckRanks(tmp_path).call(2, leaves_a_message_behind, limit=5.0)


def test_ranks_that_never_came_to_the_code_are_not_judged(tmp_path, monkeypatch):
    still_importing = tmp_path / "still_importing.py"
    still_importing.write_text("import time\n\ntime.sleep(600)\n")
    monkeypatch.setattr(on_ranks, "SCRIPT", still_importing)
    (src := tmp_path / "src").mkdir()
    with pytest.raises(UnfitMachine, match=r"no rank reached your code within \d+ s: the machine"):
        on_ranks.CheckRanks(src).call(1, computes, limit=0.5)


def verdict(tmp_path: Path, code: str) -> Report:
    (tmp_path / "ring.py").write_text(f"{RING}{code}\n")
    (report,) = session.run(tmp_path, ["ring"], limit=300)
    return report


@pytest.mark.slow
def test_a_typo_is_told_once_and_without_the_hints_of_others(tmp_path):
    report = verdict(tmp_path, "pass\n\n\ntesnor")
    assert {result.outcome for result in report.results} == {Outcome.FAILED}
    assert {result.hint for result in report.results} == {""}
    assert repr(report).splitlines() == [
        f"ring: 0 of {len(report.check_names)} checks hold.",
        f"  ✗ All {len(report.check_names)} checks end with the same error.",
        "      Your code failed in ring.py:5: NameError: name 'tesnor' is not defined",
    ]


@pytest.mark.slow
def test_what_the_code_prints_is_shown_where_it_fails(tmp_path):
    report = verdict(tmp_path, "print('my length is', tensor.numel())")
    failed = [result for result in report.results if result.outcome == Outcome.FAILED]
    assert failed and any(result.hint for result in failed)
    assert any("rank 1 │ my length is" in result.printed for result in failed)
    assert "What your code printed:" in repr(report)
