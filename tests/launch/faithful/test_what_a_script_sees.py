"""The environment of a script: arguments, paths, signals, limits, variables, random numbers."""

import json
import os

import pytest
from support.both_ways import Outcome, in_terminal, warm
from support.launching import Client

pytestmark = pytest.mark.slow

FACTS = r'''
"""A script's docstring."""
import gc, json, locale, logging, multiprocessing, os, resource, signal, sys, threading, warnings
import __main__
early_globals = sorted(globals())
facts = {}
facts["argv"] = sys.argv
facts["path"] = sys.path
facts["main"] = [__name__, __file__, __spec__, __package__, __doc__]
facts["types in main"] = [str(type(__loader__)), type(__builtins__).__name__]
facts["main is this"] = __main__.__dict__ is globals() and sys.modules["__main__"] is __main__
facts["globals"] = early_globals
facts["cwd"] = os.getcwd()
facts["flags"] = str(sys.flags)
facts["options"] = [sys.warnoptions, sys._xoptions, sys.dont_write_bytecode]
facts["limits of Python"] = [sys.getrecursionlimit(), sys.getswitchinterval()]
facts["executable"] = [sys.executable, sys.prefix]
facts["umask"] = os.umask(0o022)
names = {signal.SIGINT: signal.default_int_handler}
facts["signals"] = {
    int(n): "python" if signal.getsignal(n) == names.get(n, 1) else str(signal.getsignal(n))
    for n in signal.valid_signals()
}
facts["blocked"] = sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, [])))
facts["session"] = [os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid(), os.nice(0)]
in_main_thread = threading.current_thread() is threading.main_thread()
facts["threads"] = [threading.active_count(), in_main_thread, len(os.listdir("/proc/self/task"))]
facts["limits"] = {
    n: resource.getrlimit(getattr(resource, n))
    for n in dir(resource)
    if n.startswith("RLIMIT_") and n != "RLIMIT_CORE"
}
# On a machine with GPUs the warm server has asked NVML for them, which keeps these open.
NVML = ("/dev/nvidia", "anon_inode:[eventfd]")
links = {n: "/proc/self/fd/" + n for n in os.listdir("/proc/self/fd")}
facts["descriptors"] = sorted(
    int(n)
    for n, link in links.items()
    if os.path.lexists(link) and not os.readlink(link).startswith(NVML)
)
facts["stdin"] = [sys.stdin.read(), sys.stdin.isatty(), os.path.realpath("/proc/self/fd/0")]
facts["streams"] = [
    [s.encoding, s.errors, s.line_buffering, s.write_through, s.isatty(), s.name, s.mode]
    for s in (sys.stdout, sys.stderr)
]
facts["terminals"] = [sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__]
facts["collector"] = [gc.isenabled(), gc.get_threshold(), gc.get_debug()]
facts["logging"] = [str(logging.root.handlers), logging.root.level, logging.root.manager.disable]
facts["locale"] = [locale.setlocale(locale.LC_ALL), sys.getfilesystemencoding()]
facts["process"] = [
    multiprocessing.current_process().name,
    multiprocessing.parent_process() is None,
    multiprocessing.get_start_method(allow_none=True),
    multiprocessing.active_children(),
]
facts["comm"] = open("/proc/self/comm").read()
facts["hooks"] = [
    sys.excepthook is sys.__excepthook__,
    sys.displayhook is sys.__displayhook__,
    sys.gettrace(),
    sys.getprofile(),
    sys.unraisablehook is sys.__unraisablehook__,
    threading.excepthook is threading.__excepthook__,
]
facts |= {"variable " + k: v[:99] for k, v in os.environ.items() if k not in VARYING}

import numpy, torch
facts["threads of torch"] = [torch.get_num_threads(), torch.get_num_interop_threads()]
facts["torch"] = [
    str(torch.get_default_dtype()),
    torch.is_grad_enabled(),
    torch.cuda.is_initialized(),
    torch.distributed.is_initialized(),
    torch.are_deterministic_algorithms_enabled(),
    str(torch.distributed.get_debug_level()),
    torch.get_float32_matmul_precision(),
]
facts["numpy"] = [str(numpy.geterr()), str(numpy.get_printoptions())]
import transformers, datasets
NOISY = 'transformers.modeling_utils', 'datasets.arrow_dataset', 'torch'
facts["transformers"] = [
    transformers.utils.logging.get_verbosity(),
    datasets.utils.logging.get_verbosity(),
    [logging.getLogger(name).isEnabledFor(logging.WARNING) for name in NOISY],
]
import random
facts["random"] = [
    random.random(), numpy.random.rand(), torch.rand(1).item(), torch.initial_seed()
]
for item in facts.items():
    print("FACT", json.dumps(item, default=str))
'''
VARYING = {
    "MASTER_PORT",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_ERROR_FILE",
    "COURSE_METRICS_FILE",
    "COURSE_WARM",
    "COURSE_TEST_MARK",
    "GLOO_SOCKET_IFNAME",
    "MASTER_ADDR",
    "_",
}


def seen(way: Outcome, rank: int) -> dict:
    """What the script saw, by name."""
    lines = [line for line in way.stdout[rank].splitlines() if line.startswith("FACT")]
    return dict(json.loads(line.removeprefix("FACT ")) for line in lines)


@pytest.fixture(scope="module")
def facts(client: Client) -> tuple[Outcome, Outcome]:
    """What the same script sees both ways, started from src/ below the current folder."""
    client.script("src/facts", "VARYING = set('''" + " ".join(VARYING) + "'''.split())\n" + FACTS)
    args = ("--name", "two words", 'it\'s "quoted"', "", "*")
    # Without the fault handler: it makes `signal.getsignal` tell two names for the same state.
    return tuple(
        way(client, "src/facts", *args, PYTHONFAULTHANDLER="") for way in (in_terminal, warm)
    )


@pytest.mark.parametrize("rank", [0, 1])
def test_script_sees_what_it_sees_in_a_terminal(facts: tuple[Outcome, Outcome], rank: int) -> None:
    terminal, forked = (seen(way, rank) for way in facts)
    expected = {}
    if rank:  # other ranks than 0 are quiet
        expected = {
            "variable TRANSFORMERS_VERBOSITY": "error",
            "variable DATASETS_VERBOSITY": "error",
        }
        expected["transformers"] = [40, 40, [False, False, True]]
    terminal |= expected | {"random": forked["random"]}
    different = {
        name: (terminal.get(name), forked.get(name))
        for name in terminal.keys() | forked.keys()
        if terminal.get(name) != forked.get(name)
    }
    assert different == {}, different
    assert len(forked) > 40


def test_sees_its_own_folder_first(facts: tuple[Outcome, Outcome], client: Client) -> None:
    sees = seen(facts[1], 0)
    assert sees["path"][0] == str(client.folder / "src") and "" not in sees["path"]
    assert sees["argv"] == ["src/facts.py", "--name", "two words", 'it\'s "quoted"', "", "*"]
    assert sees["descriptors"] == [0, 1, 2] and sees["threads"] == [1, True, 1]
    assert sees["session"] == [True, True, os.nice(0)]


def test_ranks_have_random_numbers_of_their_own(
    facts: tuple[Outcome, Outcome], client: Client
) -> None:
    again = warm(client, "src/facts")
    rows = [seen(way, rank)["random"] for way in (facts[1], again) for rank in (0, 1)]
    for generator in zip(*rows, strict=True):
        assert len(set(generator)) == 4
