"""The course as pip installs it, without a clone."""

import shutil
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

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


def link_packages(python: Path, *names: str) -> None:
    """Link packages of this environment, with their dependencies, into another environment."""
    site = next((python.parents[1] / "lib").glob("python3.*")) / "site-packages"
    for name in _with_dependencies(*names):
        for file in metadata.files(name) or []:
            top = file.parts[0]
            source = Path(str(metadata.distribution(name).locate_file(top)))
            if top not in ("..", "__pycache__") and not (site / top).exists():
                (site / top).symlink_to(source)


def _with_dependencies(*names: str) -> set[str]:
    """The packages and all their dependencies on this machine."""
    packages: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop().lower()
        if name in packages:
            continue
        packages.add(name)
        needs = [Requirement(text) for text in metadata.requires(name) or []]
        todo += [
            need.name for need in needs if not need.marker or need.marker.evaluate({"extra": ""})
        ]
    return packages
