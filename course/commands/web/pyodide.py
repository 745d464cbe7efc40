"""Pyodide, which is Python for browsers, from npm."""

import base64
import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from course.core import CourseError

PACKAGE = "pyodide@314.0.7"
# Its digest, as `npm view PACKAGE dist.integrity` prints it.
SHA512 = "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
FILES = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)


def add(out: Path) -> None:
    """Write Pyodide's files into the new folder `out`.

    Raises `CourseError` if npm is missing or fails, or if its package is not the one we know.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise CourseError("The site needs npm, which brings Pyodide: install Node.js.")
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", PACKAGE, "--silent"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise CourseError(f"npm could not bring {PACKAGE}: {done.stderr.strip()[-300:]}")
        archive = next(Path(folder).glob("*.tgz"))
        digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if digest != SHA512:
            raise CourseError(
                f"npm brought a {PACKAGE} with another checksum than we know: sha512-{digest}."
            )
        with tarfile.open(archive) as files:
            files.extractall(folder, filter="data")
        out.mkdir()
        for name in FILES:
            shutil.copyfile(Path(folder) / "package" / name, out / name)
