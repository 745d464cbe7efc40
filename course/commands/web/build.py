"""From the solved notebooks to a folder of static files: pages by Sphinx, Pyodide, and our Python.

Everything that a page asks for lies in the folder: it works under any address, without the net.
"""

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from course.commands.web.hosted import BRANCH, Repository, write_hosted
from course.commands.web.sources import write_sources
from course.core import CourseError

HERE = Path(__file__).parent
PYODIDE = "pyodide@314.0.7"  # Python for browsers, from npm
PYODIDE_FILES = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)
NAMELESS = re.compile(r'alt="(_images/\w+\.(?:svg|png))"')
TITLE = re.compile(r"<title>(.*?)</title>")
ROOMS = ("core", "drawing", "charts", "explore")  # what explorables are made of


def build(root: Path, out: Path, repository: Repository | None = None) -> None:
    """Write the site into `out`, in place of an older one. Raises `CourseError` if it cannot.

    With a `repository`, `out/hosted` is what its branch of that name must hold.
    """
    with tempfile.TemporaryDirectory(prefix="course-site-") as folder:
        sources, pages = Path(folder) / "sources", Path(folder) / "pages"
        write_sources(root, sources, repository)
        static = sources / "_static"
        shutil.copytree(HERE / "static", static)
        shutil.copytree(HERE / "templates", sources / "_templates")
        for name in ("widget.js", "widget.css"):
            shutil.copyfile(root / "course" / "explore" / name, static / name)
        _zip_python(root, static / "course.zip")
        _add_pyodide(static / "pyodide", Path(folder))
        _run_sphinx(sources, pages)
        for page in pages.glob("*.html"):
            text = _finished(page.read_text(encoding="utf-8"), pages)
            page.write_text(text, encoding="utf-8")
        if repository:
            write_hosted(root, pages / BRANCH, repository)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(
            pages,
            out,
            ignore=shutil.ignore_patterns(".doctrees", ".buildinfo*", "_sources", "objects.inv"),
        )


def _finished(page: str, folder: Path) -> str:
    """What Sphinx and its theme leave out: images wait until they are near, all can be reached.

    A picture that is an output is named by its own title; its files lie below `folder`.
    """
    page = NAMELESS.sub(lambda found: f'alt="{_title(folder / found[1])}"', page)
    page = page.replace("<img ", '<img loading="lazy" ')
    page = page.replace("<pre", '<pre tabindex="0"')  # or its end is out of a keyboard's reach
    return page.replace('class="caption" role="heading"', 'class="caption"')


def _title(picture: Path) -> str:
    """The title of an SVG, as an attribute takes it; other pictures are plots, and have none."""
    title = TITLE.search(picture.read_text(encoding="utf-8")) if picture.suffix == ".svg" else None
    return title[1].replace('"', "&quot;") if title else "The plot that the code above draws"


def _zip_python(root: Path, path: Path) -> None:
    """The Python that the pages run."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        sources = [root / "course" / "__init__.py"]
        for room in ROOMS:
            sources += sorted((root / "course" / room).rglob("*.py"))
        for source in sources:
            archive.write(source, source.relative_to(root))


def _add_pyodide(out: Path, folder: Path) -> None:
    """Pyodide's own files, as npm has them."""
    npm = shutil.which("npm")
    if npm is None:
        raise CourseError("The site needs npm, which brings Pyodide: install Node.js.")
    done = subprocess.run(
        [npm, "pack", PYODIDE, "--silent"], cwd=folder, capture_output=True, text=True
    )
    if done.returncode:
        raise CourseError(f"npm could not bring {PYODIDE}: {done.stderr.strip()[-300:]}")
    out.mkdir()
    with tarfile.open(next(folder.glob("pyodide-*.tgz"))) as archive:
        for name in PYODIDE_FILES:
            member = archive.extractfile(f"package/{name}")
            (out / name).write_bytes(member.read())


def _run_sphinx(sources: Path, pages: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto"]
    done = subprocess.run(
        [*command, "-b", "html", str(sources), str(pages)], capture_output=True, text=True
    )
    if done.returncode:
        raise CourseError(f"Sphinx is not content with the pages:\n{done.stderr[-2000:]}")
