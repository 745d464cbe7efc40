"""What the site needs from npm, unpacked: Python for browsers, and what draws previews."""

import shutil
import subprocess
import tarfile
from pathlib import Path

from course.core import CourseError


def unpack(package: str, folder: Path) -> Path:
    """The files of a `package` such as ``pyodide@314.0.7``, in a new folder below `folder`."""
    npm = shutil.which("npm")
    if npm is None:
        raise CourseError("The site needs npm, which brings Pyodide: install Node.js.")
    into = folder / package.strip("@").replace("/", "-")
    into.mkdir()
    done = subprocess.run(
        [npm, "pack", package, "--silent"], cwd=into, capture_output=True, text=True
    )
    if done.returncode:
        raise CourseError(f"npm could not bring {package}: {done.stderr.strip()[-300:]}")
    with tarfile.open(next(into.glob("*.tgz"))) as archive:
        archive.extractall(into, filter="data")
    return into / "package"
