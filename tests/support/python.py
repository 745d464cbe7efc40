"""Python code that runs on its own."""

import os
import subprocess
import sys


def run_python(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a new interpreter, with `env` added to its environment."""
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | env,
        check=False,
    )
