"""The checks of the doctor on cores, memory, disk, network and isolation, sick and well."""

import pytest
from support.machines import assert_finds, assert_passes, case_names, facts, machine

from course.core.words import GIB
from course.hardware.doctor import check_machine as checks
from course.hardware.doctor.facts import LOGS, SCRIPTS
from course.hardware.doctor.results import BROKEN, NOTE, OK

SICK = [  # check, facts, level, what the sentence says
    (checks.cores, facts(machine(cores=1)), NOTE, "2 ranks share 1 core:"),
    (
        checks.idle,
        facts(machine(cores=2), load=6.2),
        NOTE,
        "About 6 processes compete for 2 cores, so everything takes longer",
    ),
    (
        checks.memory,
        facts(machine(memory_free=3 * GIB)),
        NOTE,
        "3 GiB of memory is free; 4 ranks want 4 GiB",
    ),
    (
        checks.memory,
        facts(machine(memory_free=GIB // 2)),
        BROKEN,
        "0.5 GiB of memory is free",
    ),
    (
        checks.shared_memory,
        facts(shm=(GIB // 16, GIB // 16)),
        NOTE,
        "0.0625 GiB free of 0.0625 GiB; NCCL and DataLoader",
    ),
    (
        checks.shared_memory,
        facts(shm=(8 * GIB, GIB // 2)),
        NOTE,
        "`docker run --shm-size=2g ...`",
    ),
    (checks.open_files, facts(open_files=256), NOTE, "only 256 files: `ulimit -n 4096`"),
    (
        checks.loopback,
        facts(loopback_error="refused"),
        BROKEN,
        "cannot meet on a port of localhost (refused)",
    ),
    (
        checks.host_name,
        facts(host_error="leads to no address"),
        NOTE,
        "add `127.0.1.1 box` to /etc/hosts",
    ),
    (
        checks.proxy,
        facts(environ={"http_proxy": "http://u:secret@p:1"}),
        NOTE,
        "A proxy (http_proxy) can catch",
    ),
    (
        checks.proxy,
        facts(environ={"ALL_PROXY": "http://p", "no_proxy": "localhost"}),
        NOTE,
        "(all_proxy)",
    ),
    (
        checks.scripts,
        facts(folders={SCRIPTS: "Permission denied", LOGS: None}),
        BROKEN,
        "labs/src cannot be written (Permission",
    ),
    (
        checks.logs,
        facts(folders={SCRIPTS: None, LOGS: "Permission denied"}),
        NOTE,
        "labs/course-runs cannot be written (Permission",
    ),
    (checks.disk, facts(disk_free=GIB), NOTE, "Only 1 GiB is free on the disk"),
    (checks.disk, facts(disk_free=GIB // 8), BROKEN, "Only 0.125 GiB is free"),
    (
        checks.isolation,
        facts(isolation_error="bwrap is missing: `sudo apt-get install bubblewrap` installs it"),
        OK,
        "cannot isolate the code of others here: bwrap is missing",
    ),
]
WELL = [  # check, facts, what the sentence says; None: nothing to look at
    (checks.cores, facts(machine(cores=2)), "2 cores for 2 ranks"),
    (
        checks.idle,
        facts(machine(cores=2), load=2.0),
        "2 cores, of which other programs use 2.0",
    ),
    (checks.idle, facts(load=None), None),
    (checks.memory, facts(machine(memory_free=4 * GIB)), "4 GiB of memory free"),
    (checks.shared_memory, facts(shm=(GIB, GIB)), "/dev/shm has 1 GiB free"),
    (checks.shared_memory, facts(shm=None), None),
    (checks.open_files, facts(), "a process may open 1024 files"),
    (checks.open_files, facts(open_files=None), "a process may open any number of files"),
    (checks.loopback, facts(), "ranks can meet on a port of localhost"),
    (checks.host_name, facts(), "the host name box leads here"),
    (checks.proxy, facts(environ={"http_proxy": ""}), "no proxy in the way of localhost"),
    (
        checks.proxy,
        facts(environ={"HTTP_PROXY": "http://p", "no_proxy": ".Localhost, 127.0.0.1"}),
        "no proxy in the way",
    ),
    (
        checks.proxy,
        facts(environ={"https_proxy": "http://p", "NO_PROXY": "*"}),
        "no proxy in the way",
    ),
    (checks.scripts, facts(), "labs/src can be written"),
    (checks.logs, facts(), "labs/course-runs can be written"),
    (checks.disk, facts(), "2 GiB free on the disk"),
    (checks.isolation, facts(), "`python -m course check --isolated`"),
]


@pytest.mark.parametrize(("check", "facts", "level", "words"), SICK, ids=case_names(SICK))
def test_a_check_finds_its_fault_and_no_other_check_does(check, facts, level, words):
    assert_finds(check, facts, level, words)


@pytest.mark.parametrize(("check", "facts", "words"), WELL, ids=case_names(WELL))
def test_a_check_lets_a_sound_machine_pass(check, facts, words):
    assert_passes(check(facts), words)


def test_every_check_is_tested_both_ways():
    assert {check for check, *_ in SICK} == {check for check, *_ in WELL} == set(checks.MACHINE)


def test_no_password_of_a_proxy_is_printed():
    sick = facts(environ={"http_proxy": "http://u:secret@p:1"})
    assert "secret" not in checks.proxy(sick).text
