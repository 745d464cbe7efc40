"""Where ranks were when the time limit ended a run, read from their fault handlers' output."""

import sysconfig
from pathlib import Path

import pytest

from course.core import RUNS, user_files
from course.core.call_site import CallSite
from course.launch import stacks
from course.launch.messages import Lines, RankEnded, RankStarted
from course.launch.run import ABORTED, Run

OWN = user_files.COURSE.rstrip("/")
TORCH = f"{sysconfig.get_path('purelib')}/torch"
C10D = f"{TORCH}/distributed/distributed_c10d.py"
LOGGER = f"{TORCH}/distributed/c10d_logger.py"


def run_of(*ranks: str | None) -> Run:
    """A run whose ranks wrote these frames, innermost first ("file:line function").

    None stands for a rank that had ended.
    """
    run = Run(["torchrun", "script.py"], RUNS)
    for rank, frames in enumerate(ranks):
        run.take(RankStarted(rank, 100 + rank, 0.0))
        if frames is None:
            run.take(RankEnded(rank, 0))
            continue
        run.take(Lines(rank, "stderr", written(frames)))
        run.take(RankEnded(rank, -6))
    return run


def written(frames: str) -> list[str]:
    """The fault handler's lines."""
    block = []
    for frame in frames.split(";"):
        place, function = frame.strip().split(" ")
        file, line = place.rsplit(":", 1)
        block.append(f'  File "{file}", line {line} in {function}')
    other = [
        "Thread 0x00007f01 (most recent call first):",
        '  File "/labs/src/other.py", line 1 in worker',
        "",
    ]
    return [
        ABORTED,
        "",
        *other,
        "Current thread 0x00007f02 (most recent call first):",
        *block,
        "",
        "Extension modules: a",
    ]


@pytest.fixture
def script(tmp_path: Path) -> str:
    file = tmp_path / "ddp.py"
    file.write_text(
        "one\n    dist.all_reduce(x)\n    dist.barrier()\n    loss.backward()\n    time.sleep(9)\n"
    )
    return str(file)


def reduces(script: str) -> str:
    return f"{C10D}:3252 all_reduce; {LOGGER}:83 wrapper; {script}:2 <module>"


def barriers(script: str) -> str:
    waits = f"{C10D}:9 _wait; {C10D}:4512 barrier; {LOGGER}:83 wrapper"
    return f"{waits}; {script}:3 train; {script}:1 <module>"


def elsewhere(script: str) -> str:
    return f"{script}:5 <module>"


def test_place_is_the_call_of_the_script(script: str) -> None:
    sites = stacks.call_sites(run_of(reduces(script), barriers(script), elsewhere(script), None))
    assert sites == {
        0: CallSite("all_reduce", script, 2),
        1: CallSite("barrier", script, 3),
        2: CallSite("", script, 5),
    }
    assert str(sites[0]) == "waits in all_reduce at ddp.py:2   dist.all_reduce(x)"
    assert str(sites[2]) == "is at ddp.py:5   time.sleep(9)"


def test_backward_waits_too(script: str) -> None:
    waits = f"{TORCH}/autograd/graph.py:829 _engine_run_backward; {TORCH}/_tensor.py:625 backward"
    assert stacks.call_sites(run_of(f"{waits}; {script}:4 <module>")) == {
        0: CallSite("backward", script, 4)
    }


def test_forward_waits_where_ddp_sends_its_buffers_and_not_where_it_computes(script: str) -> None:
    ddp = f"{TORCH}/nn/parallel/distributed.py"
    module = f"{TORCH}/nn/modules/module.py:1789 _call_impl"
    syncs = f"{ddp}:2363 _distributed_broadcast_coalesced; {ddp}:2425 _sync_buffers"
    sends = f"{syncs}; {ddp}:1886 forward; {module}"
    computes = f"{TORCH}/nn/modules/linear.py:134 forward; {module}; {ddp}:1890 forward; {module}"
    sites = stacks.call_sites(
        run_of(f"{sends}; {script}:2 <module>", f"{computes}; {script}:2 <module>")
    )
    assert sites == {0: CallSite("forward", script, 2), 1: CallSite("", script, 2)}


def test_frames_of_the_course_and_of_libraries_are_no_place(script: str) -> None:
    own = f"{OWN}/fork.py:72 run_as_main; <string>:1 <module>"
    assert stacks.call_sites(run_of(f"{elsewhere(script)}; {own}", own)) == {
        0: CallSite("", script, 5),
        1: None,
    }


def test_where_no_script_is_a_given_file_is_named_with_its_functions() -> None:
    """It waits in the learner's place, which may have made the mistake two lines before."""
    file, line = stacks.GIVEN / "serving.py", 49
    waits = f"{C10D}:2741 recv; {file}:{line} receive; {file}:90 distribute"
    (place,) = stacks.call_sites(run_of(f"{waits}; {OWN}/checks/on_rank.py:9 serve")).values()
    expected = "waits in recv at serving.py:49 (in receive(), called by distribute())"
    assert str(place).startswith(expected)


def test_line_is_that_of_the_script_as_it_is_now(script: str) -> None:
    """A learner edits the script between two runs of one kernel."""
    place = CallSite("", script, 1)
    assert str(place).endswith("one")
    Path(script).write_text("another line\n")
    assert str(place).endswith("another line")


def test_different_calls(script: str) -> None:
    report = stacks.report(run_of(reduces(script), barriers(script)), 20)
    assert report.splitlines() == [
        "The limit of 20 s ended the run. Where the ranks stood:",
        "  rank 0 waits in all_reduce at ddp.py:2   dist.all_reduce(x)",
        "  rank 1 waits in barrier at ddp.py:3   dist.barrier()",
        "The ranks wait in different calls (all_reduce at ddp.py:2; barrier at ddp.py:3): "
        "each waits for the others forever.",
    ]


def test_a_rank_that_has_ended(script: str) -> None:
    report = stacks.report(run_of(reduces(script), elsewhere(script), None), 20).splitlines()
    assert report[2:4] == [
        "  rank 1 is at ddp.py:5   time.sleep(9)",
        "  rank 2 had ended with exit code 0",
    ]
    assert report[4].startswith("Rank 2 has ended. Rank 0 waits in all_reduce at ddp.py:2, and ")


def test_call_that_some_did_not_make(script: str) -> None:
    report = stacks.report(run_of(reduces(script), elsewhere(script)), 20).splitlines()
    assert "rank 1 did not call all_reduce: rank 1 is at ddp.py:5   time.sleep(9)." in report[3]


def test_slow_run_is_no_deadlock(script: str) -> None:
    """All in one call, or none in any: the stacks are shown and nothing is claimed."""
    for frames in (reduces(script), elsewhere(script)):
        report = stacks.report(run_of(frames, frames), 1.5)
        assert report.startswith("The limit of 1.5 s ended the run.")
        assert len(report.splitlines()) == 3


def test_all_in_a_call_with_a_root_are_asked_for_it(script: str) -> None:
    frames = f"{C10D}:50 broadcast;{LOGGER}:90 wrapper;{script}:2 <module>"
    last = stacks.report(run_of(frames, frames), 20).splitlines()[-1]
    assert last == "Do all ranks name the same `src` in broadcast?"


def test_rank_that_wrote_nothing() -> None:
    run = Run(["torchrun", "script.py"], RUNS)
    run.take(RankStarted(0, 100, 0.0))
    run.take(RankEnded(0, -9))
    assert "rank 0 had ended with exit code -9" in stacks.report(run, 5)


def test_rank_that_had_to_be_killed_is_not_said_to_have_ended_or_to_be_elsewhere(
    script: str,
) -> None:
    run = run_of(f"{C10D}:9 all_reduce;{script}:1 f")
    run.take(RankStarted(1, 101, 0.0))
    run.take(RankEnded(1, -9, unresponsive=True))
    report = stacks.report(run, 5)
    assert "rank 1 did not answer: it was stopped, or it waits inside the system" in report
    assert "had ended" not in report and "did not call" not in report


def test_a_line_is_shown_without_the_comment_behind_it(script: str) -> None:
    place = CallSite("barrier", script, 1)
    Path(script).write_text("    dist.barrier()" + " " * 55 + "# all ranks meet here\n")
    assert str(place) == "waits in barrier at ddp.py:1   dist.barrier()"
    Path(script).write_text('log(name="# of ranks")\n')
    assert str(place).endswith('log(name="# of ranks")')
