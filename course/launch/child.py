"""Start a rank: a new interpreter, or a fork of a warm one where that can be as faithful."""

import os
import signal
import sys
from dataclasses import dataclass

from course.launch.forked import be_process, enter, run_as_main

# Variables read once, when Python or a library starts: a warm process has read them already, so a run that changes
# one of them gets new interpreters.
READ_AT_START = (
    "PYTHON", "TORCH", "PYTORCH_", "HF_", "TRANSFORMERS_", "DATASETS_", "TOKENIZERS_",
    "OMP_", "MKL_", "KMP_", "GOMP_", "OPENBLAS_", "LD_", "MALLOC_", "LC_", "LANG", "TZ", "HOME", "XDG_", "HUGGING",
    "TQDM_", "TMPDIR",
)  # fmt: skip
# ... but these of them are read late by the libraries, or read again by `_reread_environment`.
READ_LATE = (
    "PYTHONUNBUFFERED", "PYTHONFAULTHANDLER", "PYTHON_COLORS", "TORCHELASTIC_", "TORCH_ELASTIC_", "TORCH_NCCL_",
    "TORCH_GLOO_", "TORCH_FR_", "TORCH_DISTRIBUTED_DEBUG", "TRANSFORMERS_VERBOSITY", "DATASETS_VERBOSITY",
    "OMP_NUM_THREADS", "TORCHINDUCTOR_CACHE_DIR", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE",
    "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK",  # scikit-learn sets them in the kernel that imports it
)  # fmt: skip


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
        # Python ignores SIGPIPE and SIGXFSZ, a warm process SIGINT; a child should start with the system's defaults.
        defaults = [signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT]
        return os.posix_spawnp(
            self.argv[0], self.argv, self.env, file_actions=dup, setsid=True, setsigdef=defaults
        )

    def can_fork(self, started_with: dict[str, str]) -> bool:
        """Whether a process that started with that environment can run this command as faithfully as a new one."""
        python, *rest = self.argv
        unbuffered_script = len(rest) >= 2 and rest[0] == "-u" and not rest[1].startswith("-")
        return (
            python == sys.executable
            and unbuffered_script
            and not changed_at_start(started_with, self.env)
        )

    def become(self) -> None:
        """Run the script as `__main__` in this process, a fresh fork, as `python -u script args` would."""
        enter(self.env, self.stdout, self.stderr)
        be_process(lambda: run_as_main(self.argv[2:]))


def changed_at_start(before: dict[str, str], after: dict[str, str]) -> set[str]:
    """The variables that differ and that were read when the warm process started."""
    names = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return {
        name for name in names if name.startswith(READ_AT_START) and not name.startswith(READ_LATE)
    }
