"""Hostile code gets no verdict that it has not earned; in a sandbox it reaches only its folder."""

import ctypes
import importlib.util
import platform
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import psutil
import pytest
from support import attacks
from support.patience import until
from support.peak import at_most

from course.checks.runner import session
from course.checks.runner.on_ranks import LOST, MOST_RANKS, CheckRanks, Rejected
from course.core import ROOT
from course.core.words import GIB, MIB
from course.exercises import Outcome
from course.hardware import confined, isolation
from course.launch import Sandbox, client, connect

# A text is evaluated only by a process that runs such a test; the answer takes seconds.
possible = pytest.mark.skipif("isolation.missing()", reason="no isolation: the doctor says why")
HERE = pytest.param(False, id="here")
ISOLATED = pytest.param(True, id="isolated", marks=possible)
pytestmark = [pytest.mark.slow, pytest.mark.rest]


@pytest.fixture(scope="module")
def src(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A learner's folder with a hostile script."""
    folder = tmp_path_factory.mktemp("src")
    shutil.copy(attacks.__file__, folder)
    return folder


@pytest.fixture(scope="module")
def hostile(src: Path) -> ModuleType:
    """The hostile script, imported from the learner's folder as a check imports it."""
    spec = importlib.util.spec_from_file_location("hostile", src / "attacks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sandbox(src: Path) -> Iterator[Sandbox]:
    """A small sandbox for the script, in the environment of a teacher who has a secret."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(isolation, "DISK", 16 * MIB)
        patch.setattr(isolation, "PROCESSES", 100)
        patch.setenv("TEACHERS_TOKEN", "secret")
        with Sandbox.around(src, MOST_RANKS) as sandbox:
            yield sandbox


@pytest.fixture
def attack(src: Path, request: pytest.FixtureRequest) -> Callable:
    """Run an attack on a rank, in the sandbox or outside; return how far it got."""

    def run(function: Callable, *args: object, isolated: bool = True, limit: float = 60) -> object:
        place = request.getfixturevalue("sandbox") if isolated else connect.warm_up()
        return CheckRanks(src, place).call(1, function, *args, join=False, limit=limit)[0]

    return run


@pytest.mark.parametrize("isolated", [HERE, ISOLATED])
def test_only_isolated_code_finds_no_secret(attack, hostile, tmp_path, monkeypatch, isolated):
    """Without isolation the attack finds the secret, so it is a real attack."""
    (tmp_path / "key").write_text("my secret")
    monkeypatch.setenv("TEACHERS_TOKEN", "secret")
    with socket.create_server(("127.0.0.1", 0)) as server:
        lines = [
            attack(hostile.read, str(tmp_path / "key"), isolated=isolated),
            attack(hostile.find_in_environments, "TEACHERS_TOKEN", isolated=isolated),
            attack(hostile.connect, server.getsockname()[1], isolated=isolated),
        ]
    assert lines == [not isolated] * 3


@pytest.mark.parametrize("isolated", [HERE, ISOLATED])
def test_only_isolated_code_changes_nothing(attack, hostile, src, tmp_path, isolated):
    (tmp_path / "clone" / "course").mkdir(parents=True)
    (tmp_path / "other.py").touch()
    done = [
        attack(hostile.change, str(tmp_path / "other.py"), isolated=isolated),
        attack(hostile.write_in_own_folder, isolated=isolated),
    ]
    attack(hostile.delete, str(tmp_path / "clone"), isolated=isolated)
    assert done == [not isolated, True]
    assert (tmp_path / "clone").exists() == isolated
    assert (src / "notes.txt").exists() != isolated  # isolated, its own folder is a copy
    (src / "notes.txt").unlink(missing_ok=True)


@possible
def test_the_course_is_there_to_be_read_and_its_solutions_are_not(attack, hostile):
    checks = ROOT / "course" / "checks" / "lab_02" / "ring.py"
    assert not attack(hostile.change, str(checks))
    attack(hostile.delete, str(ROOT))
    assert checks.is_file()
    lesson, ring = "course/lessons/02_all_reduce.md", "course/commands/web/ring/page/solved.py"
    for solved in (ROOT / "solutions", ROOT / lesson, ROOT / ring):
        assert solved.exists() and attack(hostile.delete, str(solved))  # a sandbox never had it
        assert solved.exists()


@possible
def test_what_a_machine_has_is_limited(attack, hostile, src):
    assert 10 < attack(hostile.breed) < 100
    assert attack(hostile.eat) <= isolation.MEMORY // 2**30
    folders = ["/", "/dev", "/dev/shm", "/tmp", "/var/tmp", "/proc", "/run", str(src)]
    folders += [str(ROOT / "course"), str(ROOT / "course" / "lessons"), isolation.SUBMITTED]
    assert 30 < attack(hostile.fill, folders) <= 3 * 16  # the three disks of 16 MiB


@possible
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of calls are of x86_64")
def test_isolated_code_has_none_of_the_sessions_keys(hostile, src):
    """The kernel gives these keys to all processes of a session, whatever their namespaces."""
    call, name = ctypes.CDLL(None).syscall, f"course-{secrets.token_hex(4)}"
    call(250, 1, None)  # as a login does: begin a session with a keyring
    if call(248, b"user", name.encode(), b"secret", 6, -3) < 0:
        pytest.skip("this machine keeps no keys")
    here = [sys.executable, "-c", f"import attacks; print(attacks.read_key({name!r}))"]
    assert subprocess.check_output(here, cwd=src, text=True) == "True\n"
    with Sandbox.around(src, MOST_RANKS) as new:
        ranks = CheckRanks(src, new)
        assert ranks.call(1, hostile.read_key, name, join=False, limit=60) == [False]


@possible
def test_the_kernel_answers_only_what_learners_need(attack, hostile):
    column = confined.PROCESSORS[platform.machine()].column
    numbers = {name: pair[column] for name, pair in confined.REFUSED.items()}
    assert attack(hostile.call_the_kernel, numbers) == []
    assert attack(hostile.call_the_kernel, {"getpid": 39 if column == 0 else 172}) == ["getpid"]


@possible
def test_who_runs_the_checks_cannot_be_changed_or_read(attack, hostile, sandbox):
    """Otherwise a script could change what runs the next script, or learn outside paths."""
    assert not attack(hostile.reach_into_the_parent)
    assert not attack(hostile.find_in_command_lines, str(sandbox.outside))


@possible
def test_memory_counts_for_all_processes_together(attack, hostile, monkeypatch):
    assert attack(hostile.take_memory_of_nobody) == []
    monkeypatch.setattr(isolation, "TOGETHER", 2 * GIB)
    with pytest.raises(Rejected, match="of memory, over all its processes"):
        attack(hostile.eat_together, 5, 500)
    monkeypatch.undo()
    assert attack(hostile.write_in_own_folder)  # and the next check begins as usual


@possible
@pytest.mark.parametrize(
    ("way", "how_much", "message"),
    [
        ("swell", 3, "a tensor of 3 GiB is too large to be handed to a check"),
        ("double", 24, "more than 100,000 things cannot be handed to a check"),
    ],
)
def test_an_answer_cannot_grow_where_it_is_judged(attack, hostile, way, how_much, message):
    with at_most(100), pytest.raises(Rejected, match=message):
        attack(getattr(hostile, way), how_much)


@possible
@pytest.mark.parametrize(
    ("kind", "mib"),
    [
        *(("deflated", 100), ("lists", 60), ("lists", 7), ("deep", 10), ("digits", 10)),
        *(("expanded", 10_000), ("not a type", 1)),
    ],
)
def test_nor_can_a_forged_one(attack, hostile, kind, mib):
    """A forged answer cannot grow either, even if it begins with the right token."""
    with at_most(400), pytest.raises(Rejected, match="does your code write to the check"):
        attack(hostile.hand_over, kind, mib)


@pytest.mark.parametrize("isolated", [HERE, ISOLATED])
@pytest.mark.parametrize("way", ["leave", "vanish", "become_another"])
def test_who_ends_early_gives_no_answer(attack, hostile, way, isolated):
    with pytest.raises(Rejected, match="Your code ended before the check had its answer"):
        attack(getattr(hostile, way), isolated=isolated)


@pytest.mark.parametrize("isolated", [HERE, ISOLATED])
def test_an_answer_of_ones_own_does_not_count(attack, hostile, isolated):
    with pytest.raises(Rejected, match="does your code write to the check"):
        attack(hostile.write_the_answer, isolated=isolated)
    assert attack(hostile.replace_save, isolated=isolated) is False


@possible
def test_it_kills_nobody_but_itself(attack, hostile):
    """The next check then starts as usual."""
    with pytest.raises(Rejected, match=LOST.partition(":")[0]):
        attack(hostile.kill_everybody, str(Path("/proc/self/ns/pid").readlink()))
    assert attack(hostile.write_in_own_folder)


@pytest.mark.parametrize("isolated", [HERE, ISOLATED])
def test_nothing_outlives_a_check(attack, hostile, isolated):
    attack(hostile.write_in_own_folder, isolated=isolated)
    before = below()
    assert attack(hostile.outlive, isolated=isolated)
    until(lambda: below() <= before)


def below() -> set[int]:
    """The descendants of this process, in every namespace."""
    return {process.pid for process in psutil.Process().children(recursive=True)}


@pytest.mark.parametrize("isolated", [HERE, ISOLATED])
def test_a_check_ends_though_its_supervisor_is_stopped(attack, hostile, isolated, monkeypatch):
    attack(hostile.write_in_own_folder, isolated=isolated)
    before = below()
    monkeypatch.setattr(client, "OVERDUE_S", 5.0)
    monkeypatch.setattr(client, "MAX_EXTENSION", 0)
    with pytest.raises(Rejected, match=LOST.partition(":")[0]):
        attack(hostile.stop_supervisor, isolated=isolated, limit=3)
    until(lambda: below() <= before)


FORGED = """
import pytest, torch, sys
from course.checks.runner import session
sys.stdout.write("\\x1b[2J\\x1b[H\\rstart_here: 1 of 1 checks hold.\\n  ✓ The mean is right\\n")
pytest.raises = pytest.main = session.run = lambda *a, **k: []
session._outcome = lambda error: ("passed", "")
torch.Tensor.__eq__ = torch.equal = torch.allclose = lambda *a, **k: True


def mean_of_ranks(number):
    pass
"""
RIGHT = """
import torch.distributed as dist


def mean_of_ranks(number):
    dist.all_reduce(number)
    number /= dist.get_world_size()
"""


@pytest.mark.parametrize("isolated", [HERE, ISOLATED])
def test_the_verdict_is_made_elsewhere(tmp_path, monkeypatch, isolated):
    """What a script prints or replaces does not change its verdict; a right script passes."""
    monkeypatch.setattr("course.checks.runner.on_ranks.WARM_S", 0)  # these scripts import little
    connect.warm_up()

    def judged(script: str) -> session.Result:
        (tmp_path / "start_here.py").write_text(script)
        (report,) = session.run(tmp_path, ["start_here"], only="test_mean", isolated=isolated)
        (result,) = report.results
        return result

    forged = judged(FORGED)
    assert forged.outcome == Outcome.FAILED
    assert "1 of 1 checks hold" in forged.printed and "\x1b" not in forged.printed
    assert judged(RIGHT).outcome == Outcome.PASSED


COMPARES_NOTHING = """
import torch
import torch.distributed as dist

torch.equal = lambda *given: True


def all_gather(received, mine):
    for source in range(dist.get_world_size()):
        dist.broadcast(torch.zeros_like(mine), source)
"""


def test_nobody_passes_by_another_way_to_compare(tmp_path, monkeypatch):
    """This check compares on the ranks, in the process of the learner's code."""
    monkeypatch.setattr("course.checks.runner.on_ranks.WARM_S", 0)
    connect.warm_up()
    (tmp_path / "my_all_gather.py").write_text(COMPARES_NOTHING)
    (report,) = session.run(tmp_path, ["my_all_gather"], only="test_twice")
    assert not report.ok
    assert "it puts something else in the place of torch.equal" in report.results[0].message
