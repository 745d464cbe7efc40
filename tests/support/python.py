"""Runs Python code in a new interpreter."""

import os
import subprocess
import sys

from support import evidence


def run_python(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a new interpreter, with `env` added to its environment."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | env,
        check=False,
    )
    evidence.keep("Python printed", lambda: done.stdout + done.stderr)
    return done
