"""In a forked launcher or rank: behave like a new interpreter, from start to exit.

From the first instruction to the exit code, a script cannot tell a fork of the warm server from a
new interpreter. `forked.md` lists how this can fail.
"""

import atexit
import contextlib
import gc
import importlib
import importlib.machinery
import os
import signal
import sys
import threading
import types
from collections.abc import Callable, Sequence
from typing import NoReturn

from course.launch import process_tree

# Python calls these when it exits; `be_process` must call them itself. Both names are private.
END = ((threading, "_shutdown"), (atexit, "_run_exitfuncs"))
RECURSION_LIMIT = sys.getrecursionlimit()  # before a script may set another
OWN = os.path.dirname(__file__) + os.sep


def possible() -> bool:
    """Whether a fork can replace a new interpreter: on Linux, if this Python has `END`."""
    return sys.platform == "linux" and all(hasattr(home, name) for home, name in END)


class Forked(BaseException):
    """Raised in a fresh fork to unwind its stack to `warm_server.main`, which then runs `task`."""

    def __init__(self, task: Callable[[], None]) -> None:
        self.task = task


def enter(env: dict[str, str], stdout: int, stderr: int) -> None:
    """Give a fork its own session, signals, standard streams, environment and random state."""
    os.setsid()
    process_tree.set_dumpable(True)
    signal.set_wakeup_fd(-1)
    for name in (signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(name, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (stdout, 1), (stderr, 2)):
        os.dup2(source, target)
    for descriptor in {null, stdout, stderr} - {0, 1, 2}:
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(env)
    _reread_environment()
    # Python's own generator reseeds itself after a fork, but these two do not. In a new process
    # they start from random seeds.
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.seed()


def _reread_environment() -> None:
    """Make imported libraries read again the variables that they normally read only once."""
    if os.environ.get("PYTHONFAULTHANDLER"):
        import faulthandler

        faulthandler.enable(all_threads=True)
    if torch := sys.modules.get("torch"):
        torch.distributed.set_debug_level_from_env()
        if os.environ.get("OMP_NUM_THREADS", "").isdecimal():
            torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    for library in ("transformers", "datasets"):
        level = os.environ.get(f"{library.upper()}_VERBOSITY")
        if level is not None and library in sys.modules:
            logging = sys.modules[library].utils.logging
            levels = getattr(logging, "log_levels", {})
            logging.set_verbosity(levels.get(level, logging.get_verbosity()))


def begin(command: Sequence[str]) -> None:
    """Set the arguments, as `python -u script args` does before it runs the script.

    Python then imports ``sitecustomize``. Here that happens only if the first folder of PYTHONPATH
    has a new one.
    """
    sys.orig_argv, sys.argv = list(command), list(command[2:])
    first = os.environ.get("PYTHONPATH", "").partition(os.pathsep)[0]
    if first not in sys.path and os.path.isfile(os.path.join(first, "sitecustomize.py")):
        sys.path.insert(0, first)
        sys.modules.pop("sitecustomize", None)
        importlib.import_module("sitecustomize")


def run_as_main() -> None:
    """Run the script `sys.argv[0]` as the module `__main__`, as the interpreter does."""
    path = os.path.abspath(sys.argv[0])
    if not sys.flags.safe_path:  # PYTHONSAFEPATH
        sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    main = types.ModuleType("__main__")
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    main.__dict__.update(
        __file__=path, __builtins__=sys.modules["builtins"], __cached__=None, __loader__=loader
    )
    main.__annotations__ = {}
    sys.modules["__main__"] = main
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    exec(code, main.__dict__)


def be_process(body: Callable[[], None]) -> NoReturn:
    """Run `body` as the whole work of this fork, then exit as the interpreter does.

    Only the teardown of the imported libraries is left out: it would take longer than many scripts.
    """
    status: int | signal.Signals = 0
    try:
        body()
    except SystemExit as end:
        status = _exit_code(end.code)
    except BaseException as error:
        stack = error.__traceback__
        while stack is not None and stack.tb_frame.f_code.co_filename.startswith(OWN):
            stack = stack.tb_next  # show only the script's frames, as in a terminal
        sys.last_value = error.with_traceback(stack)
        sys.excepthook(type(error), error, stack)
        status = signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    # Wait for threads that are not daemons; `multiprocessing` ends its forks in the same way.
    threading._shutdown()  # pyrefly: ignore[missing-attribute]
    # Exit functions of libraries that the script never imported need the usual recursion limit.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION_LIMIT))
    atexit._run_exitfuncs()
    if threading.active_count() == 1:  # else a daemon thread may still use the objects
        _groups = _process_groups()
        sys.modules["__main__"].__dict__.clear()  # objects of the script are finalized
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    if isinstance(status, signal.Signals):
        signal.signal(status, signal.SIG_DFL)
        os.kill(os.getpid(), status)
    os._exit(status)


def _process_groups() -> list[object]:
    """The process groups that the script's objects hold; while we hold them, none is destroyed.

    Destroying a group joins its threads while it holds the GIL. A thread that needs the GIL at that
    moment, to free a tensor of the last collective, would wait forever, and so would this one
    (`Reducer` and `ProcessGroupGloo` of torch 2.13; a new interpreter can hang or abort there).
    """
    if "torch" not in sys.modules:
        return []
    group = sys.modules["torch"].distributed.ProcessGroup
    referents = (referent for thing in gc.get_objects() for referent in gc.get_referents(thing))
    return [referent for referent in referents if issubclass(type(referent), group)]


def _exit_code(code: object) -> int:
    """The exit code that `sys.exit(code)` gives to the system."""
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    print(code, file=sys.stderr)
    return 1
