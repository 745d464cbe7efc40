"""Runs a script on two warm ranks, for the tools that measure costs."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from course.checks.runner.on_ranks import await_warm_ranks
from course.launch import warm_up


@contextmanager
def on_two_ranks(script: str) -> Iterator[list[str]]:
    """Yield the command that runs the script; the script may write to its own folder."""
    warm_up()
    await_warm_ranks()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "steps.py")
        path.write_text(script)
        yield ["torchrun", "--standalone", "--nproc-per-node", "2", str(path)]
