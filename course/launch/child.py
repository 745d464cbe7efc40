"""In the supervisor: start a command, as a new interpreter or as a fork of the warm server.

It is forked only if the fork will behave exactly as a new interpreter would.
"""

import os
import signal
import sys
from dataclasses import dataclass

from course.launch.forked import be_process, begin, enter, run_as_main

CHANNEL = 3  # the descriptor under which a new launcher finds its channel


@dataclass(frozen=True)
class Command:
    """An argument vector, its environment, and the descriptors for its output."""

    argv: tuple[str, ...]
    env: dict[str, str]
    stdout: int
    stderr: int

    def spawn(self, channel: int | None = None) -> int:
        """Start the command as a new process in its own session; return the process id.

        `channel` is a descriptor that the child inherits as number CHANNEL. Raises `OSError` if the
        program cannot be started.
        """
        files = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
        files += [(os.POSIX_SPAWN_DUP2, self.stdout, 1), (os.POSIX_SPAWN_DUP2, self.stderr, 2)]
        if channel is not None:
            files.append((os.POSIX_SPAWN_DUP2, channel, CHANNEL))
        # Python ignores SIGPIPE and SIGXFSZ, and the warm server ignores SIGINT. The child gets the
        # system's defaults.
        defaults = [signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT]
        return os.posix_spawnp(
            self.argv[0],
            self.argv,
            self.env,
            file_actions=files,
            setsid=True,
            setsigdef=defaults,
        )

    @property
    def runs_a_script(self) -> bool:
        """Whether this Python runs a script, which a fork can do too, unlike `-m` and `-c`."""
        python, *rest = self.argv
        unbuffered_script = len(rest) >= 2 and rest[0] == "-u" and not rest[1].startswith("-")
        return python == sys.executable and unbuffered_script

    @property
    def script_folder(self) -> str:
        """The folder of the script, from which it imports first; only if `runs_a_script`."""
        return os.path.dirname(os.path.realpath(self.argv[2]))

    def become(self) -> None:
        """Run the script as `__main__` in this fresh fork, as `python -u script args` would."""
        enter(self.env, self.stdout, self.stderr)
        be_process(self._run)

    def _run(self) -> None:
        begin(self.argv)
        run_as_main()

    def close(self) -> None:
        """Close this process's descriptors of the output; the child has its own."""
        os.close(self.stdout)
        os.close(self.stderr)
