"""A check that was not judged never passes: after interrupts, limits, hangs, an unknown torch."""

import contextlib
import signal
import threading
from pathlib import Path

import psutil
import pytest
from support import solutions
from support.patience import PATIENCE_S

from course.checks.runner import check, on_ranks, session
from course.checks.runner.outcomes import UnfitMachine, outcome
from course.checks.tools.hint import Failure, Undecided, hint
from course.core import CourseError, Interrupted
from course.exercises import Outcome, Report, Result
from course.hardware import isolation
from course.launch import Reason, Run, Sandbox

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_ranks")]

HOLDS = Result("test_adds", "It adds.", Outcome.PASSED)


@pytest.fixture
def src(tmp_path: Path) -> Path:
    """The solved scripts of labs 02 and 03."""
    solutions.write("02_all_reduce", tmp_path)
    solutions.write("03_distributed_data_parallel", tmp_path)
    return tmp_path


def test_fewer_results_than_asked_are_no_pass():
    report = Report("ring", ("test_adds", "test_ends"), (HOLDS,))
    assert not report.ok and not report.judged and report.share == 0.5
    assert report.verdict == "ring: 1 of 2 checks hold, 1 not judged."
    assert not Report("ring", (), ()).ok


def test_a_report_is_the_same_after_json():
    late = Result("test_ends", "It ends.", Outcome.NOT_JUDGED, "too busy", again=True)
    report = Report("ring", ("test_adds", "test_ends"), (HOLDS, late))
    assert Report.from_dict(report.as_dict()) == report


@pytest.mark.parametrize(
    ("error", "again"),
    [(UnfitMachine("busy"), True), (Undecided("no premise"), False), (CourseError("no"), True)],
)
def test_what_is_not_judged_says_whether_to_ask_again(error, again):
    assert outcome(error) == (Outcome.NOT_JUDGED, str(error), again)


@pytest.mark.skipif("isolation.missing()", reason="no isolation: the doctor says why")
def test_a_sandbox_in_which_nothing_starts_judges_nobody(tmp_path, monkeypatch):
    """Otherwise a broken sandbox would give a whole class no points."""
    monkeypatch.setitem(isolation.ENVIRONMENT, "PYTHONHOME", "/nowhere")
    with Sandbox.around(tmp_path, 1) as broken, pytest.raises(UnfitMachine, match="doctor"):
        on_ranks.CheckRanks(tmp_path, broken).call(1, on_ranks.forked_too_early)


def test_ranks_that_ended_well_are_not_refused_for_a_launcher_that_was_late(tmp_path):
    processes = dict.fromkeys((0, 1), (0, 0.0))
    run = Run(["torchrun"], tmp_path, wall_s=20.0, reason=Reason.LIMIT, processes=processes)
    run._ended.update({0: 0, 1: 0})
    failure = on_ranks._failure(run, 20.0, tmp_path, "check.py")
    assert isinstance(failure, UnfitMachine) and "too busy" in str(failure)


@pytest.mark.rest
def test_a_limit_of_all_checks_keeps_what_was_judged(src):
    solutions.hold(src / "ring.py", after=1)
    limit, report = 2.5, None
    while report is None and limit < PATIENCE_S:
        limit *= 2
        with contextlib.suppress(CourseError):  # a busy machine: the checks were not found yet
            report = check.check("ring", str(src), limit=limit)
    assert len(report.check_names) == len(report.results) == 12
    assert not report.judged and not report.ok
    assert report.results[-1].outcome == Outcome.NOT_JUDGED


class Stopped:
    """Ends the process of the checks in the second check, in the given way."""

    def __init__(self, how) -> None:
        self.how, self.done = how, False

    def __call__(self, run, event) -> None:
        """Called with each event of the process."""
        if "check 2 of" in run.text(0) + getattr(event, "text", "") and not self.done:
            self.done = True
            self.how(run)


def kill(run) -> None:
    """Kill a process with SIGKILL, as a machine does when it runs out of memory."""
    (process,) = (psutil.Process(pid) for pid, _ in run.processes.values())
    process.send_signal(signal.SIGKILL)


def test_checks_that_are_killed_keep_what_was_judged(src):
    solutions.hold(src / "ring.py", after=5)  # in the third check or later
    report = check.check("ring", str(src), watch=Stopped(kill))
    assert 0 < report.passed_count < 12 and not report.judged
    assert (
        report.verdict
        == f"ring: {report.passed_count} of 12 checks hold, {12 - report.passed_count} not judged."
    )


def test_checks_in_a_thread_can_be_stopped(src):
    solutions.hold(src / "ring.py", after=5)
    stop = threading.Event()
    with pytest.raises(Interrupted):
        check.check("ring", str(src), watch=Stopped(lambda run: stop.set()), stop=stop)


HANGS = "\n\ndef all_reduce(tensor):\n    dist.recv(tensor, src=(dist.get_rank() + 1) % 3)\n"


@pytest.mark.parametrize(("thorough", "judged"), [(False, session.HANGS), (True, None)])
@pytest.mark.rest
def test_after_some_hangs_the_rest_is_left_out_unless_all_is_wanted(src, thorough, judged):
    (src / "ring.py").write_text((src / "ring.py").read_text() + HANGS)
    limit, report = 1.5, None
    while not (report and report.judged) and limit < PATIENCE_S:  # or the machine was too busy
        (report,) = session.run(src, ["ring"], limit=limit, thorough=thorough)
        limit *= 2
    left_out = [result for result in report.results if result.message.startswith("not run, since")]
    hung = [result for result in report.results if result.message.startswith("The limit of")]
    assert len(hung) == judged or (thorough and len(hung) > session.HANGS)
    assert bool(left_out) is not thorough
    assert report.judged and {result.outcome for result in left_out} <= {Outcome.NOT_JUDGED}


@pytest.mark.rest
def test_a_torch_that_the_pretended_gpus_do_not_know_refuses_nobody(src, monkeypatch):
    """The ranks are new interpreters that import a torch that lacks one of CUDA's names."""
    site = src / "another"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import torch.cuda\n\ndel torch.cuda.current_stream\n", encoding="utf-8"
    )
    monkeypatch.setenv("PYTHONPATH", str(site))
    (report,) = session.run(src, ["ddp"], only="test_gpu")
    (result,) = report.results
    assert result.outcome == Outcome.NOT_JUDGED and result.again
    assert result.message.startswith("not judged on this torch: ")


def test_a_failure_may_have_a_hint_of_its_own():
    @hint("That of the check.")
    def a_check() -> None: ...

    assert a_check.hint == "That of the check."
    assert Failure("too fast", hint="Who was left out?").hint == "Who was left out?"
    assert Failure("too fast").hint == ""
