"""Runs pytest in a temporary folder, to try the plugins of the tests."""

import os
import subprocess
import sys
from pathlib import Path

from course.core.files import ROOT
from support.launching import clean_environment


def run_pytest(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """Run pytest in a folder, with only the plugins named in `arguments`."""
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, f"--rootdir={folder}"]
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT / "tests")}
    return subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env=clean_environment() | alone | environment,
        capture_output=True,
        text=True,
    )
