"""What the site needs from npm, unpacked: Python for browsers."""

import base64
import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path

from course.core import CourseError


def unpack(package: str, sha512: str, folder: Path) -> Path:
    """The files of a `package` such as ``pyodide@314.0.7``, in a new folder below `folder`.

    `sha512` is its digest, in the form of `npm view PACKAGE dist.integrity`. Raises `CourseError`
    where npm brings something else.
    """
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
    archive = next(into.glob("*.tgz"))
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != sha512:
        raise CourseError(f"npm brought another {package} than the course knows: sha512-{found}.")
    with tarfile.open(archive) as files:
        files.extractall(into, filter="data")
    return into / "package"
