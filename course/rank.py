"""Start a process of a run: a new interpreter, or a fork of a warm one made to look like a new interpreter."""

import importlib.machinery
import os
import signal
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass

# Variables read once, when Python or a library starts: a warm process has read them already, so a run that changes
# one of them gets new interpreters.
READ_AT_START = (
    "PYTHON", "TORCH", "PYTORCH_", "HF_", "TRANSFORMERS_", "DATASETS_", "TOKENIZERS_",
    "OMP_", "MKL_", "KMP_", "GOMP_", "OPENBLAS_", "LD_", "MALLOC_",
)  # fmt: skip
# ... but these of them are read late by the libraries, or read again by `_reread_environment`.
READ_LATE = (
    "PYTHONUNBUFFERED", "PYTHONFAULTHANDLER", "TORCHELASTIC_", "TORCH_ELASTIC_", "TORCH_NCCL_", "TORCH_GLOO_",
    "TORCH_FR_", "TORCH_DISTRIBUTED_DEBUG", "TRANSFORMERS_VERBOSITY", "DATASETS_VERBOSITY", "OMP_NUM_THREADS",
)  # fmt: skip


class Forked(BaseException):
    """Raised in a fresh fork to unwind to the bottom of its stack, where `task` then runs as in a new process."""

    def __init__(self, task: Callable[[], None]) -> None:
        self.task = task


@dataclass(frozen=True)
class Command:
    """What to start: an argument vector, its environment, and the descriptors of its output."""

    argv: tuple[str, ...]
    env: dict[str, str]
    stdout: int
    stderr: int

    def spawn(self, wire: int | None = None) -> int:
        """Start it as a new interpreter in a session of its own; return the process id.

        `wire` is a descriptor that the child finds as number 3. Raises `OSError` if the program cannot be started.
        """
        dup = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
        dup += [(os.POSIX_SPAWN_DUP2, self.stdout, 1), (os.POSIX_SPAWN_DUP2, self.stderr, 2)]
        if wire is not None:
            dup.append((os.POSIX_SPAWN_DUP2, wire, 3))
        # Python ignores SIGPIPE and SIGXFSZ; a child should start with the system's defaults.
        defaults = [signal.SIGPIPE, signal.SIGXFSZ]
        return os.posix_spawnp(self.argv[0], self.argv, self.env, file_actions=dup, setsid=True, setsigdef=defaults)

    def can_fork(self, started_with: dict[str, str]) -> bool:
        """Whether a process that started with that environment can run this command as faithfully as a new one."""
        python, *rest = self.argv
        unbuffered_script = len(rest) >= 2 and rest[0] == "-u" and not rest[1].startswith("-")
        return python == sys.executable and unbuffered_script and not changed_at_start(started_with, self.env)

    def become(self) -> None:
        """Run the script as `__main__` in this process, a fresh fork, as `python -u script args` would."""
        enter(self.env, self.stdout, self.stderr)
        run_as_main(self.argv[2:])


def changed_at_start(before: dict[str, str], after: dict[str, str]) -> set[str]:
    """The variables that differ and that were read when the warm process started."""
    names = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return {name for name in names if name.startswith(READ_AT_START) and not name.startswith(READ_LATE)}


def enter(env: dict[str, str], stdout: int, stderr: int) -> None:
    """Give a fork the session, signals, standard streams, environment and random state of a new process."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    for name in (signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP):
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
    if "numpy" in sys.modules:  # Python's own generator reseeds itself after a fork, numpy's does not
        sys.modules["numpy"].random.seed()


def _reread_environment() -> None:
    """Let the libraries already imported see the variables that they read only once."""
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
            logging.set_verbosity(logging.log_levels.get(level, logging.get_verbosity()))


def run_as_main(argv: list[str] | tuple[str, ...]) -> None:
    """Run the script `argv[0]` as the module `__main__`, as the interpreter does with a script on its command line."""
    path = os.path.abspath(argv[0])
    sys.argv = list(argv)
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    main = types.ModuleType("__main__")
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    main.__dict__.update(__file__=path, __builtins__=sys.modules["builtins"], __cached__=None, __loader__=loader)
    sys.modules["__main__"] = main
    try:
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec")
        exec(code, main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        _hide_own_frames(error)
        raise


def _hide_own_frames(error: BaseException) -> None:
    """Make the traceback of an uncaught `error` begin where the script begins, as in a terminal."""
    hook, stack = sys.excepthook, error.__traceback__.tb_next
    sys.excepthook = lambda kind, value, _: hook(kind, value.with_traceback(stack), stack)
