"""A script run by warm ranks behaves as in a terminal: each script here runs both ways, and the outcomes are compared.

Known and accepted differences: the stack below a script's first frame is not empty (`sys._getframe().f_back`), `hash`
of text is the same on all ranks of a client unless PYTHONHASHSEED is set, OMP_NUM_THREADS may be more than the cores,
and a source file that cannot be decoded, or an exception hook that itself fails, is reported in slightly other words.
"""

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.launching import PATIENCE_S, Client, clean_environment, torchrun

pytestmark = pytest.mark.timeout(180)

# What the launch adds to the environment of every run, warm or not.
ADDED = {
    "PYTHONFAULTHANDLER": "1",
    "PYTHON_COLORS": "0",
    "KINETO_LOG_LEVEL": "6",
    "OMP_NUM_THREADS": "1",
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    client = Client(tmp_path_factory.mktemp("labs"), warm=True)
    yield client
    client.close()
    left = {path.name.partition("_")[0] for path in client.temporary.iterdir()}
    assert left <= {"torchelastic", "torchinductor"}, (
        "bare torchrun leaves some temporary files, the launcher none"
    )
    assert "Traceback" not in client.noise


@dataclass
class Outcome:
    """What a terminal shows of a run, by rank."""

    code: int
    stdout: dict[int, str]
    stderr: dict[int, str]


def in_terminal(
    client: Client, name: str, *args: str, options: tuple[str, ...] = (), **env: str
) -> Outcome:
    """The script on two ranks of the real torchrun, without anything of the course."""
    logs = client.folder / "logs" / uuid.uuid4().hex
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        *torchrun()[1:],
        *options,
        "--redirects",
        "3",
    ]
    done = subprocess.run(
        [*command, "--log-dir", logs, f"{name}.py", *args],
        env=clean_environment() | {"TMPDIR": str(client.temporary)} | ADDED | env,
        cwd=client.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    ranks = [
        {int(file.parent.name): file for file in sorted(logs.rglob(f"std{s}.log"))}
        for s in ("out", "err")
    ]
    assert ranks[0].keys() == {0, 1}, done.stderr.decode()
    return Outcome(
        done.returncode, *({rank: text_of(file) for rank, file in files.items()} for files in ranks)
    )


def text_of(file: Path) -> str:
    """A rank's output without the mark that torch puts before the lines of an uncaught exception."""
    return file.read_text().replace(f"[rank{file.parent.name}]: ", "").rstrip("\n")


def warm(
    client: Client, name: str, *args: str, options: tuple[str, ...] = (), **env: str
) -> Outcome:
    """The script on two warm ranks."""
    answer = client.run(*torchrun(), *options, f"{name}.py", *args, env=ADDED | env)
    ranks = [
        {rank: text for rank, text in answer[s].items() if rank is not None}
        for s in ("stdout", "stderr")
    ]
    return Outcome(answer["launcher_code"], *ranks)


def both(client: Client, source: str, *args: str, **settings: object) -> tuple[Outcome, Outcome]:
    """The outcome in a terminal, and that of warm ranks."""
    client.script("both", source)
    return in_terminal(client, "both", *args, **settings), warm(client, "both", *args, **settings)


# -- what a script sees -----------------------------------------------------------------------------------------------

FACTS = r'''
"""A script's docstring."""
import gc, json, locale, logging, multiprocessing, os, resource, signal, sys, threading, warnings
import __main__
early_globals = sorted(globals())
facts = {}
facts["argv"] = sys.argv
facts["path"] = sys.path
facts["main"] = [__name__, __file__, __spec__, __package__, __doc__, str(type(__loader__)), type(__builtins__).__name__]
facts["main is this"] = __main__.__dict__ is globals() and sys.modules["__main__"] is __main__
facts["globals"] = early_globals
facts["cwd"] = os.getcwd()
facts["flags"] = str(sys.flags)
facts["options"] = [sys.warnoptions, sys._xoptions, sys.dont_write_bytecode]
facts["limits of Python"] = [sys.getrecursionlimit(), sys.getswitchinterval()]
facts["executable"] = [sys.executable, sys.prefix]
facts["umask"] = os.umask(0o022)
names = {signal.SIGINT: signal.default_int_handler}
facts["signals"] = {int(n): "python" if signal.getsignal(n) == names.get(n, 1) else str(signal.getsignal(n))
                    for n in signal.valid_signals()}
facts["blocked"] = sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, [])))
facts["session"] = [os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid(), os.nice(0)]
facts["threads"] = [threading.active_count(), threading.current_thread() is threading.main_thread(),
                    len(os.listdir("/proc/self/task"))]
facts["limits"] = {n: resource.getrlimit(getattr(resource, n)) for n in dir(resource)
                   if n.startswith("RLIMIT_") and n != "RLIMIT_CORE"}
facts["descriptors"] = sorted(int(n) for n in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + n))
facts["stdin"] = [sys.stdin.read(), sys.stdin.isatty(), os.path.realpath("/proc/self/fd/0")]
facts["streams"] = [[s.encoding, s.errors, s.line_buffering, s.write_through, s.isatty(), s.name, s.mode]
                    for s in (sys.stdout, sys.stderr)]
facts["terminals"] = [sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__]
facts["collector"] = [gc.isenabled(), gc.get_threshold(), gc.get_debug()]
facts["logging"] = [str(logging.root.handlers), logging.root.level, logging.root.manager.disable]
facts["locale"] = [locale.setlocale(locale.LC_ALL), sys.getfilesystemencoding()]
facts["process"] = [multiprocessing.current_process().name, multiprocessing.parent_process() is None,
                    multiprocessing.get_start_method(allow_none=True), multiprocessing.active_children()]
facts["comm"] = open("/proc/self/comm").read()
facts["hooks"] = [sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__,
                  sys.gettrace(), sys.getprofile(),
                  sys.unraisablehook is sys.__unraisablehook__, threading.excepthook is threading.__excepthook__]
facts |= {"variable " + k: v for k, v in os.environ.items() if k not in VARYING}

import numpy, torch
facts["threads of torch"] = [torch.get_num_threads(), torch.get_num_interop_threads()]
facts["torch"] = [str(torch.get_default_dtype()),
                  torch.is_grad_enabled(), torch.cuda.is_initialized(), torch.distributed.is_initialized(),
                  torch.are_deterministic_algorithms_enabled(), str(torch.distributed.get_debug_level()),
                  torch.get_float32_matmul_precision()]
facts["numpy"] = [str(numpy.geterr()), str(numpy.get_printoptions())]
import transformers, datasets
facts["transformers"] = [transformers.utils.logging.get_verbosity(), datasets.utils.logging.get_verbosity()]
import random
facts["random"] = [random.random(), numpy.random.rand(), torch.rand(1).item(), torch.initial_seed()]
for item in facts.items():
    print("FACT", json.dumps(item, default=str))
'''
VARYING = {
    "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_ERROR_FILE", "COURSE_METRICS_FILE", "COURSE_WARM",
    "COURSE_TEST_MARK", "GLOO_SOCKET_IFNAME", "MASTER_ADDR", "_",
}  # fmt: skip


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
    wanted = {}
    if rank:  # other ranks than 0 are quiet
        wanted = {
            "variable TRANSFORMERS_VERBOSITY": "error",
            "variable DATASETS_VERBOSITY": "error",
        }
        wanted["transformers"] = [40, 40]
    terminal |= wanted | {"random": forked["random"]}
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
    assert sees["session"] == [True, True, 0]


def test_ranks_have_random_numbers_of_their_own(
    facts: tuple[Outcome, Outcome], client: Client
) -> None:
    again = warm(client, "src/facts")
    rows = [seen(way, rank)["random"] for way in (facts[1], again) for rank in (0, 1)]
    for generator in zip(*rows, strict=True):
        assert len(set(generator)) == 4


# -- one script in one process: how it ends, and what it says ---------------------------------------------------------

ENDINGS = {
    "nothing": "",
    "exit none": "import sys; sys.exit()",
    "exit zero": "import sys; sys.exit(0)",
    "exit three": "import sys; sys.exit(3)",
    "exit minus one": "import sys; sys.exit(-1)",
    "exit too large": "import sys; sys.exit(256 + 7)",
    "exit true": "import sys; sys.exit(True)",
    "exit with words": "import sys; sys.exit('words: ä')",
    "exit with a list": "raise SystemExit([1, 2])",
    "exit in a function": "def f(): exit(4)\nf()",
    "exit in finally": "try:\n    raise SystemExit(5)\nfinally:\n    print('finally')",
    "exit at once": "import os; print('unflushed?', end=''); os._exit(6)",
    "value error": "def f(x):\n    raise ValueError(f'no {x}')\n\nf(\n    1,\n)",
    "cause": "try:\n    {}['a']\nexcept KeyError as error:\n    raise RuntimeError('b') from error",
    "context": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    [][1]",
    "group": "raise ExceptionGroup('several', [ValueError(1), TypeError(2)])",
    "note": "error = ValueError('a')\nerror.add_note('a note')\nraise error",
    "recursion": "import sys\nsys.setrecursionlimit(60)\ndef f(): f()\nf()",
    "own exception": "class Own(Exception): pass\nraise Own",
    "exception that cannot be shown": "class Bad(Exception):\n    def __str__(self): raise ValueError\nraise Bad",
    "assertion": "assert 1 == 2, 'not equal'",
    "syntax": "print('never')\nx = (1,\ny = 2",
    "indentation": "if True:\nprint(1)",
    "syntax in a sibling": "import broken",
    "no such module": "import there_is_none",
    "no such name": "from sibling import nothing",
    "error in a sibling": "import sibling\nsibling.fail()",
    "interrupt": "raise KeyboardInterrupt",
    "terminated": "import os, signal; os.kill(os.getpid(), signal.SIGTERM); print('not here')",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "pipe": "import os, signal; os.kill(os.getpid(), signal.SIGPIPE); print('ignored')",
    "atexit": "import atexit\n@atexit.register\ndef f(): print('first')\natexit.register(print, 'second')\nprint(0)",
    "atexit after an error": "import atexit; atexit.register(print, 'still'); 1 / 0",
    "atexit after exit": "import atexit, sys; atexit.register(print, 'still'); sys.exit(9)",
    "error in atexit": "import atexit; atexit.register(lambda: 1 / 0); atexit.register(print, 'other')",
    "globals in atexit": "import atexit\nname = 'here'\natexit.register(lambda: print(name))",
    "finalizer": "import weakref\nclass A: pass\na = A()\nweakref.finalize(a, print, 'finalized')",
    "deleted at the end": "class A:\n    def __del__(self): print('deleted')\na = A()\nprint('main')",
    "generator closed": "def g():\n    try: yield\n    finally: print('closed')\nx = g()\nnext(x)",
    "thread outlives main": "import threading, time\ndef f(): time.sleep(0.1); print('thread')\n"
    "threading.Thread(target=f).start(); print('main')",
    "daemon thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
    "daemon thread that uses globals": "import threading, time\nx = [0] * 10**6\ndef f():\n    while True: x[0] += 1\n"
    "threading.Thread(target=f, daemon=True).start(); time.sleep(0.1)",
    "executor": "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor(2).submit(print, 'in a thread')",
    "error in a thread": "import threading\ndef f(): 1 / 0\n"
    "t = threading.Thread(target=f, name='own'); t.start(); t.join()",
    "error hook": "import sys\nsys.excepthook = lambda *a: print('hook', a[0].__name__)\nraise ValueError",
    "error that nobody can raise": "class A:\n    def __del__(self): 1 / 0\nA()\nprint('on')",
    "warning": "import warnings\nwarnings.warn('a'); warnings.warn('a')\nwarnings.warn('b', DeprecationWarning)",
    "logging": "import logging; logging.warning('a %s', 1); logging.info('b'); logging.getLogger('x').error('c')",
    "log errors": "import logging\ntry: 1 / 0\nexcept Exception: logging.exception('so')",
    "read stdin": "print(repr(input()))",
    "closed stdout": "import sys; sys.stdout.close()",
    "closed stderr": "import sys; sys.stderr.close(); 1 / 0",
    "redirected": "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()): print('lost')\nprint('seen')",
    "bytes": "import sys; sys.stdout.buffer.write(b'\\xe4\\n'); print('ä')",
    "latin-1": "# -*- coding: latin-1 -*-\nprint(len('ä'))",
    "future": "from __future__ import annotations\ndef f(x: nowhere): pass\nprint(f.__annotations__)",
    "no future here": "def f(x: int): pass\nprint(f.__annotations__)",
    "annotations": "x: int = 1\nprint(__annotations__)",
    "exec": "exec('x = 1'); print(x, eval('x + 1'))",
    "source": "import inspect\ndef f(): return 1\nprint(inspect.getsource(f), f.__module__)",
    "main": "import __main__, sys\nx = 5\nprint(__main__.x, sys.modules['__main__'].x, __name__)",
    "pickle": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A, A.__module__)",
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int = 1\nprint(A())",
    "enum": "from enum import Enum\nclass E(Enum): A = 1\nprint(E.A, E)",
    "sibling": "import sibling\nprint(sibling.__file__, sibling.__name__)",
    "module named like ours": "import launch\nprint(launch.x)",
    "name of ours": "import agent, wire\nprint(agent.x, wire.x)",
    "asyncio": "import asyncio\nasync def f(): await asyncio.sleep(0); print('async')\nasyncio.run(f())",
    "fork": "import os\nif os.fork() == 0:\n    print('child'); raise SystemExit(3)\nprint(os.wait()[1] >> 8)",
    "subprocess": "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(1)'], check=True)",
    "multiprocessing": "import multiprocessing as mp\ndef f(x): return x * x\nif __name__ == '__main__':\n"
    "    for way in ('fork', 'spawn', 'forkserver'):\n        with mp.get_context(way).Pool(1) as pool:\n"
    "            print(way, pool.map(f, [1, 2, 3]))",
    "signal handler": "import os, signal\nsignal.signal(signal.SIGTERM, lambda *a: print('handled'))\n"
    "os.kill(os.getpid(), signal.SIGTERM)\nprint('on')",
    "alarm": "import signal, time\nsignal.alarm(1)\ntime.sleep(9)",
    "file limit of sockets": "import socket\na, b = socket.socketpair()\nprint(a.fileno(), b.fileno())",
}  # fmt: skip


def comparable(text: str) -> str:
    """Without addresses and counts of frames, which differ from run to run."""
    return re.sub(r"0x[0-9a-f]+|repeated \d+ more|refcount : \d+", "…", text)


@pytest.mark.parametrize("name", ENDINGS)
def test_script_ends_as_in_a_terminal(client: Client, name: str) -> None:
    """The same output on each stream, the same exit code: `python -u script.py`, and a fork of the warm process."""
    client.script("src/sibling", "def fail():\n    raise LookupError('in a sibling')\n")
    client.script("src/broken", "def f(:\n    pass\n")
    for ours in ("launch", "agent", "wire"):
        client.script(f"src/{ours}", "x = 'the script\\'s own'")
    encoding = "latin-1" if name == "latin-1" else "utf-8"
    (client.folder / "src" / "ending.py").write_text(ENDINGS[name] + "\n", encoding=encoding)
    terminal = subprocess.run(
        [sys.executable, "-u", "src/ending.py"],
        env=clean_environment() | ADDED,
        cwd=client.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    answer = client.run("python", "src/ending.py", env=ADDED)
    for stream in ("stdout", "stderr"):
        shown = getattr(terminal, stream).decode(errors="replace").rstrip("\n")
        assert comparable(answer[stream][0].rstrip("\n")) == comparable(shown), stream
    assert answer["codes"] == {0: terminal.returncode}


# -- on ranks ---------------------------------------------------------------------------------------------------------


def test_traceback_of_ranks(client: Client) -> None:
    """Also after a process group has put torch's own hook in place."""
    source = """
    import os
    import torch.distributed as dist

    dist.init_process_group("gloo")
    dist.barrier()
    if dist.get_rank() == 1:
        dist.barrier()
    print("before")
    def f():
        raise ValueError("on rank 0")
    if dist.get_rank() == 0:
        f()
    """
    terminal, forked = both(client, source)
    assert forked.code == terminal.code == 1
    assert forked.stdout[0] == terminal.stdout[0] == "before"
    shown = [
        way.stderr[0].partition("Traceback")[2].partition("ValueError: on rank 0")[0]
        for way in (forked, terminal)
    ]
    assert shown[0] == shown[1] and "in f" in shown[0]


def test_processes_inside_of_ranks(client: Client) -> None:
    """Pickling from `__main__`, loader workers, `mp.spawn`, `torch.save`, all in one script."""
    source = """
    import io, os, pickle, sys
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp
    from torch.utils.data import DataLoader, Dataset

    class Squares(Dataset):
        def __len__(self):
            return 8
        def __getitem__(self, i):
            return i * i

    class Net(torch.nn.Linear):
        pass

    def worker(i, queue):
        queue.put((i, __name__, os.path.basename(__file__), sys.argv[1:]))

    if __name__ == "__main__":
        dist.init_process_group("gloo")
        print([batch.tolist() for batch in DataLoader(Squares(), batch_size=4, num_workers=2)])
        queue = mp.get_context("spawn").SimpleQueue()
        mp.spawn(worker, args=(queue,), nprocs=1)
        print(queue.get())
        file = io.BytesIO()
        torch.save(Net(2, 2), file)
        file.seek(0)
        net = torch.load(file, weights_only=False)
        print(type(net) is Net, Net.__module__, type(pickle.loads(pickle.dumps(net))) is Net)
        objects = [None, None]
        dist.all_gather_object(objects, Net)
        print(objects == [Net, Net])
        torch.manual_seed(dist.get_rank())
        parts = [torch.rand(2).tolist(), torch.nn.Linear(2, 1).weight.tolist()]
        print(parts)
        dist.destroy_process_group()
    """
    terminal, forked = both(client, source, "an argument")
    assert forked.code == terminal.code == 0, forked.stderr
    assert forked.stdout == terminal.stdout
    assert "__mp_main__" in forked.stdout[0] and "True __main__ True" in forked.stdout[1]
    assert forked.stderr == terminal.stderr


def test_restarts(client: Client) -> None:
    """torchrun's own restarts: a failure on the first attempt, success on the second."""
    source = """
    import os, sys
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    print("attempt", attempt, "of", os.environ["TORCHELASTIC_MAX_RESTARTS"], flush=True)
    if attempt == "0":
        sys.exit(3)
    """
    client.script("both", source)
    answer = client.run(*torchrun(), "--max-restarts", "1", "both.py")
    assert answer["ok"] and answer["codes"] == {0: 0, 1: 0}, answer
    for rank in (0, 1):
        assert answer["stdout"][rank].splitlines()[-1] == "attempt 1 of 1"
        log = Path(answer["log_dir"], f"rank{rank}.log").read_text()
        assert log.endswith("attempt 1 of 1\n")
        assert "exit code 3 – is started again" in answer["shown"]


def test_record_writes_its_error_file(client: Client) -> None:
    """torch's `@record`, which learners meet in the documentation, finds its file."""
    source = """
    import os
    from torch.distributed.elastic.multiprocessing.errors import record

    @record
    def main():
        raise ValueError("recorded")

    main()
    """
    client.script("both", source)
    answer = client.run(*torchrun(), "both.py")
    assert "ValueError: recorded" in answer["stderr"][None]
    assert "ValueError: recorded" in answer["shown"]


def test_sibling_is_fresh_in_each_run(client: Client) -> None:
    """The warm process never keeps a module of the learner's, even one edited within the clock's tick."""
    client.script("src/main", "import mine; print(mine.value)")
    for value in range(4):
        client.script("src/mine", f"value = {value}")
        assert warm(client, "src/main").stdout == {0: str(value), 1: str(value)}


def test_script_through_a_link(client: Client) -> None:
    client.script("real/beside", "value = 'beside the real file'")
    target = client.script(
        "real/target", "import sys, beside; print(beside.value, __file__, sys.argv[0])"
    )
    link = client.folder / "both.py"
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    try:
        bare = subprocess.run(
            [sys.executable, "both.py"], cwd=client.folder, capture_output=True, text=True
        )
        assert client.run("python", "both.py")["stdout"][0] == bare.stdout.strip() != ""
    finally:
        link.unlink()


@pytest.mark.parametrize(
    ("name", "value", "expression"),
    [
        ("PYTHONHASHSEED", "0", "hash('a'), sys.flags.hash_randomization"),
        ("PYTHONOPTIMIZE", "1", "__debug__, sys.flags.optimize"),
        ("PYTHONWARNINGS", "error", "sys.warnoptions"),
        ("HF_HOME", "/nowhere/hub", "__import__('huggingface_hub.constants').constants.HF_HOME"),
        ("OMP_WAIT_POLICY", "passive", "os.environ['OMP_WAIT_POLICY']"),
        (
            "TORCH_DISTRIBUTED_DEBUG",
            "DETAIL",
            "str(__import__('torch').distributed.get_debug_level())",
        ),
        ("TMPDIR", "/dev/shm", "__import__('tempfile').gettempdir()"),
        ("XDG_CACHE_HOME", "/nowhere", "__import__('huggingface_hub.constants').constants.HF_HOME"),
        ("TZ", "Asia/Tokyo", "__import__('time').tzname, __import__('time').localtime(0).tm_hour"),
        ("OMP_NUM_THREADS", "2", "__import__('torch').get_num_threads()"),
        ("LC_ALL", "C", "__import__('locale').getpreferredencoding(), sys.stdout.encoding"),
        ("PATH", "/nowhere", "os.environ['PATH']"),
    ],
)
def test_variable_of_the_run(client: Client, name: str, value: str, expression: str) -> None:
    """Seen as in a terminal: by a fork where that can be, by a new interpreter where it is read at the start."""
    client.script(
        "both", f"import os, signal, sys\nprint({expression}, signal.getsignal(signal.SIGINT))"
    )
    answer = client.run("python", "both.py", env=ADDED | {name: value})
    env = clean_environment() | ADDED | {name: value}
    command = [sys.executable, "-u", "both.py"]
    bare = subprocess.run(command, env=env, cwd=client.folder, capture_output=True, text=True)
    assert (answer["stdout"][0], answer["ok"]) == (bare.stdout.strip(), bare.returncode == 0)
    assert bare.stdout, bare.stderr


def test_current_folder_and_umask_are_those_of_the_launch(client: Client, tmp_path: Path) -> None:
    (tmp_path / "there.py").write_text("import os; print(os.getcwd()); open('new', 'w')")
    answer = client.run("python", "there.py", cwd=tmp_path)
    assert answer["stdout"][0] == str(tmp_path)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("script", ["src/asking", "asking"])
def test_module_and_program_instead_of_a_script(client: Client, script: str) -> None:
    """`-m` and `--no-python` take new interpreters by themselves."""
    client.script("package/asking", "import sys; print(__name__, __package__, sys.argv[1:])")
    answer = client.run(*torchrun(), "-m", "package.asking", "a")
    assert answer["ok"] and answer["stdout"][1] == "__main__ package ['a']"
    answer = client.run(*torchrun(), "--no-python", "echo", "b", "c")
    assert answer["ok"] and answer["stdout"] == {None: "", 0: "b c", 1: "b c"}


def test_forks_are_forks(client: Client) -> None:
    """That all the above compares two different things: what is imported at the start tells a fork."""
    client.script("both", "import sys; print('torch' in sys.modules)")
    assert client.run("python", "both.py")["stdout"][0] == "True"
    assert client.run("python", "both.py", env={"PYTHONHASHSEED": "0"})["stdout"][0] == "False"


def test_what_a_notebook_imports_leaves_its_ranks_warm() -> None:
    """Some libraries set variables when they are imported; those must not count as the learner's."""
    code = """
import os
before = dict(os.environ)
import accelerate, matplotlib.pyplot, pandas, sklearn.datasets, torch._dynamo, transformers
from course import checks, explore, hardware, nodes, slurm
from course.data import digits, nli
from course.models import bert
from course.launch.child import changed_at_start
nli.tokenized("train", size=8), digits.load(), bert()
print(changed_at_start(before, dict(os.environ)) or "none")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "none\n", done.stdout + done.stderr
