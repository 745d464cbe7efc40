"""Runs one script both in a terminal and on warm ranks, and returns the two outcomes."""

import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

from support import evidence
from support.launching import Client, clean_environment, torchrun
from support.patience import PATIENCE_S

# What the launch adds to the environment of every run, warm or not.
ADDED = {
    "PYTHONFAULTHANDLER": "1",
    "PYTHON_COLORS": "0",
    "KINETO_LOG_LEVEL": "6",
    "OMP_NUM_THREADS": "1",
}


@dataclass
class Outcome:
    """The exit code of a run, and what a terminal shows of it, by rank."""

    code: int
    stdout: dict[int, str]
    stderr: dict[int, str]


def in_terminal(
    client: Client, name: str, *args: str, options: tuple[str, ...] = (), **env: str
) -> Outcome:
    """Run the script on two ranks of the real torchrun, without any part of the course."""
    logs = client.folder / "logs" / uuid.uuid4().hex
    command = [sys.executable, "-m", "torch.distributed.run", *torchrun()[1:], *options]
    done = subprocess.run(
        [*command, "--redirects", "3", "--log-dir", logs, f"{name}.py", *args],
        env=clean_environment() | {"TMPDIR": str(client.temporary)} | ADDED | env,
        cwd=client.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    evidence.keep("torchrun in a terminal", lambda: done.stderr.decode(errors="replace"))
    ranks = [
        {int(file.parent.name): file for file in sorted(logs.rglob(f"std{s}.log"))}
        for s in ("out", "err")
    ]
    assert ranks[0].keys() == {0, 1}
    return Outcome(
        done.returncode, *({rank: text_of(file) for rank, file in files.items()} for files in ranks)
    )


def text_of(file: Path) -> str:
    """A rank's output without the prefix that torch puts before an uncaught exception's lines."""
    return file.read_text().replace(f"[rank{file.parent.name}]: ", "").rstrip("\n")


def warm(
    client: Client, name: str, *args: str, options: tuple[str, ...] = (), **env: str
) -> Outcome:
    """Run the script on two warm ranks."""
    answer = client.run(*torchrun(), *options, f"{name}.py", *args, env=ADDED | env)
    ranks = [
        {rank: text for rank, text in answer[s].items() if rank is not None}
        for s in ("stdout", "stderr")
    ]
    return Outcome(answer["launcher_code"], *ranks)


def both(client: Client, source: str, *args: str, **settings: object) -> tuple[Outcome, Outcome]:
    """Run a script both ways; return the outcome in a terminal, then the one on warm ranks."""
    client.script("both", source)
    return in_terminal(client, "both", *args, **settings), warm(client, "both", *args, **settings)
