"""The course as pip installs it, without a clone."""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

from course.core import ROOT


def install_wheel(folder: Path) -> Path:
    """The Python of a new environment in `folder` that has the course, without its libraries."""
    source = folder / "source"  # building a wheel leaves files in its source
    unwanted = shutil.ignore_patterns("__pycache__", "*runs", "traces", "*.egg-info")
    for name in ("course", "labs", "solutions", "images"):
        shutil.copytree(ROOT / name, source / name, ignore=unwanted)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, source / name)
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps"]
    subprocess.run([*pip, str(source)], check=True, capture_output=True)
    return python
