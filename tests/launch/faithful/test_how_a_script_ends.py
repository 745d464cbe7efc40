"""One script in one process: how it ends, and what it says."""

import re
import subprocess
import sys

import pytest
from support.both_ways import ADDED
from support.launching import Client, clean_environment
from support.patience import PATIENCE_S

pytestmark = pytest.mark.slow

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
    "exception that cannot be shown":
        "class Bad(Exception):\n    def __str__(self): raise ValueError\nraise Bad",
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
    "atexit":
        "import atexit\n@atexit.register\ndef f(): print('first')\n"
        "atexit.register(print, 'second')\nprint(0)",
    "atexit after an error": "import atexit; atexit.register(print, 'still'); 1 / 0",
    "atexit after exit": "import atexit, sys; atexit.register(print, 'still'); sys.exit(9)",
    "error in atexit":
        "import atexit; atexit.register(lambda: 1 / 0); atexit.register(print, 'other')",
    "globals in atexit": "import atexit\nname = 'here'\natexit.register(lambda: print(name))",
    "finalizer": "import weakref\nclass A: pass\na = A()\nweakref.finalize(a, print, 'finalized')",
    "deleted at the end":
        "class A:\n    def __del__(self): print('deleted')\na = A()\nprint('main')",
    "generator closed": "def g():\n    try: yield\n    finally: print('closed')\nx = g()\nnext(x)",
    "thread outlives main":
        "import threading, time\ndef f(): time.sleep(0.1); print('thread')\n"
        "threading.Thread(target=f).start(); print('main')",
    "daemon thread":
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
    "daemon thread that uses globals":
        "import threading, time\nx = [0] * 10**6\ndef f():\n    while True: x[0] += 1\n"
        "threading.Thread(target=f, daemon=True).start(); time.sleep(0.1)",
    "executor":
        "from concurrent.futures import ThreadPoolExecutor\n"
        "ThreadPoolExecutor(2).submit(print, 'in a thread')",
    "error in a thread":
        "import threading\ndef f(): 1 / 0\n"
        "t = threading.Thread(target=f, name='own'); t.start(); t.join()",
    "error hook":
        "import sys\nsys.excepthook = lambda *a: print('hook', a[0].__name__)\nraise ValueError",
    "error that nobody can raise": "class A:\n    def __del__(self): 1 / 0\nA()\nprint('on')",
    "warning":
        "import warnings\nwarnings.warn('a'); warnings.warn('a')\n"
        "warnings.warn('b', DeprecationWarning)",
    "logging":
        "import logging; logging.warning('a %s', 1); logging.info('b'); "
        "logging.getLogger('x').error('c')",
    "log errors": "import logging\ntry: 1 / 0\nexcept Exception: logging.exception('so')",
    "read stdin": "print(repr(input()))",
    "closed stdout": "import sys; sys.stdout.close()",
    "closed stderr": "import sys; sys.stderr.close(); 1 / 0",
    "redirected":
        "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()): print('lost')\n"
        "print('seen')",
    "bytes": "import sys; sys.stdout.buffer.write(b'\\xe4\\n'); print('ä')",
    "latin-1": "# -*- coding: latin-1 -*-\nprint(len('ä'))",
    "future":
        "from __future__ import annotations\ndef f(x: nowhere): pass\nprint(f.__annotations__)",
    "no future here": "def f(x: int): pass\nprint(f.__annotations__)",
    "annotations": "x: int = 1\nprint(__annotations__)",
    "exec": "exec('x = 1'); print(x, eval('x + 1'))",
    "source": "import inspect\ndef f(): return 1\nprint(inspect.getsource(f), f.__module__)",
    "main": "import __main__, sys\nx = 5\nprint(__main__.x, sys.modules['__main__'].x, __name__)",
    "pickle":
        "import pickle\nclass A: pass\n"
        "print(type(pickle.loads(pickle.dumps(A()))) is A, A.__module__)",
    "dataclass":
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int = 1\nprint(A())",
    "enum": "from enum import Enum\nclass E(Enum): A = 1\nprint(E.A, E)",
    "sibling": "import sibling\nprint(sibling.__file__, sibling.__name__)",
    "module named like ours": "import launch\nprint(launch.x)",
    "name of ours": "import launcher, channel\nprint(launcher.x, channel.x)",
    "asyncio":
        "import asyncio\nasync def f(): await asyncio.sleep(0); print('async')\nasyncio.run(f())",
    "fork":
        "import os\nif os.fork() == 0:\n    print('child'); raise SystemExit(3)\n"
        "print(os.wait()[1] >> 8)",
    "subprocess":
        "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(1)'], check=True)",
    "multiprocessing":
        "import multiprocessing as mp\ndef f(x): return x * x\nif __name__ == '__main__':\n"
        "    for way in ('fork', 'spawn', 'forkserver'):\n"
        "        with mp.get_context(way).Pool(1) as pool:\n"
        "            print(way, pool.map(f, [1, 2, 3]))",
    "signal handler":
        "import os, signal\nsignal.signal(signal.SIGTERM, lambda *a: print('handled'))\n"
        "os.kill(os.getpid(), signal.SIGTERM)\nprint('on')",
    "alarm": "import signal, time\nsignal.alarm(1)\ntime.sleep(9)",
    "file limit of sockets":
        "import socket\na, b = socket.socketpair()\nprint(max(a.fileno(), b.fileno()) < 20)",
}  # fmt: skip


def comparable(text: str) -> str:
    """Without addresses and counts of frames, which differ from run to run."""
    return re.sub(r"0x[0-9a-f]+|repeated \d+ more|refcount : \d+", "…", text)


@pytest.mark.parametrize("name", ENDINGS)
def test_script_ends_as_in_a_terminal(client: Client, name: str) -> None:
    """`python -u script.py` and a fork of the warm server: the same streams and exit code."""
    client.script("src/sibling", "def fail():\n    raise LookupError('in a sibling')\n")
    client.script("src/broken", "def f(:\n    pass\n")
    for ours in ("launch", "launcher", "channel"):
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
