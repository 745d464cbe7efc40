"""The licenses of the third-party files in the pages, and NOTICE, which names their authors."""

from importlib import metadata
from pathlib import Path

from course.core import CourseError, write_atomically

# The packages whose scripts and styles Sphinx copies into the pages.
COPIED = ("sphinx", "furo", "sphinx-basic-ng", "myst-nb", "pygments", "accessible-pygments")
OURS = ("LICENSE", "NOTICE")


def write_licenses(root: Path, out: Path) -> None:
    """Write our license files and theirs into the folder `out`, each as a text file."""
    for name in OURS:
        write_atomically(out / f"{name}.txt", (root / name).read_text(encoding="utf-8"))
    for package in COPIED:
        write_atomically(out / f"{package}.txt", license_of(package))


def license_of(package: str) -> str:
    """The license file of an installed package. Raises `CourseError` if it has none."""
    for file in metadata.files(package) or []:
        if file.name.upper().startswith("LICENSE") and ".dist-info" in str(file):
            return file.read_text(encoding="utf-8")
    raise CourseError(f"The installed {package} brings no license file, which the site must carry.")
