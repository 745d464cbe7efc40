"""Build the site, a folder of static files: pages by Sphinx, Pyodide, and our Python.

The folder has everything that a page loads, so it works at any address and offline.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from course.commands.web import pyodide
from course.commands.web.gallery import write_stills
from course.commands.web.hosted import BRANCH, Repository, write_hosted
from course.commands.web.licenses import write_licenses
from course.commands.web.sources import write_sources
from course.core import CourseError, FolderMark

HERE = Path(__file__).parent
UNNAMED_IMAGE = re.compile(r'alt="(_images/\w+\.(?:svg|png))"')
DRAWING = re.compile(r'<img [^>]*src="(_images/[^"]+\.svg)"[^>]*>')
# Names for the parts of a page, and a heading on each, for screen readers.
SCREEN_READER_LABELS = {
    '<aside class="sidebar-drawer"': '<aside aria-label="All pages" class="sidebar-drawer"',
    '<aside class="toc-drawer': '<aside aria-label="This page" class="toc-drawer',
    '<div id="search-results">': '<h1>Search</h1><div id="search-results">',
}
TO_TOP = re.compile(r'<a href="#" class="back-to-top.*?</a>', re.DOTALL)
EMPTY_HEADER = re.compile(r"<th([^>]*)>(?:&nbsp;|\s)*</th>")  # pandas', above the index
# Marks a folder as a site, which the next one may replace.
MARK = FolderMark("course-site.txt", "`course site` has made this folder, and replaces it.\n")
TITLE = re.compile(r"<title>(.*?)</title>")
# The packages that explorables and the ranks in the browser import.
PACKAGES = ("core", "drawing", "charts", "explore", "commands/web/ring")


def build(root: Path, out: Path, repository: Repository | None = None) -> None:
    """Write the site into `out`, in place of an older one.

    With a `repository`, `out/hosted` is what its branch of that name must contain. Raises
    `CourseError` if `out` holds anything else, or if Sphinx or npm fails.
    """
    if not MARK.may_replace(out):
        raise CourseError(f"{out} is there and holds something else: name a new folder.")
    with tempfile.TemporaryDirectory(prefix="course-site-") as folder:
        sources, pages = Path(folder) / "sources", Path(folder) / "pages"
        write_sources(root, sources, repository)
        write_stills(sources / "_static" / "stills")
        write_static(root, sources)
        write_pages(sources, pages)
        write_licenses(root, pages / "licenses")
        if repository:
            write_hosted(root, pages / BRANCH, repository)
        MARK.write(pages)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(
            pages,
            out,
            ignore=shutil.ignore_patterns(".doctrees", ".buildinfo*", "_sources", "objects.inv"),
        )


def write_static(root: Path, sources: Path) -> None:
    """Add the files that the pages load: scripts, styles, Python."""
    static = sources / "_static"
    shutil.copytree(HERE / "static", static, dirs_exist_ok=True)
    for path in (HERE / "ring" / "page").glob("*.[jc]s*"):
        shutil.copy(path, static)
    for name in ("widget.js", "widget.css", "dark.css"):
        shutil.copyfile(root / "course" / "explore" / name, static / name)
    _zip_python(root, static / "course.zip")
    pyodide.add(static / "pyodide")


def write_pages(sources: Path, pages: Path) -> None:
    """Make web pages from the sources, in the new folder `pages`."""
    _run_sphinx(sources, pages)
    for page in pages.glob("*.html"):
        text = _finished(page.read_text(encoding="utf-8"), pages)
        page.write_text(text, encoding="utf-8")


def _finished(page: str, folder: Path) -> str:
    """Finish a page of Sphinx: load images late, and put everything within a keyboard's reach.

    A picture that is an output is named by its own title; its file is in `folder`.
    """
    page = UNNAMED_IMAGE.sub(lambda match: f'alt="{_title(folder / match[1])}"', page)
    page = DRAWING.sub(lambda match: _framed(match[0], folder / match[1], match[1]), page)
    page = TO_TOP.sub(r'<nav aria-label="Top of this page">\g<0></nav>', page)
    page = EMPTY_HEADER.sub(r"<td\1></td>", page)
    page = page.replace("<img ", '<img loading="lazy" ')
    for before, after in SCREEN_READER_LABELS.items():
        page = page.replace(before, after)
    for scrolls in ("<pre", "<table"):  # or a keyboard could not scroll to their ends
        page = page.replace(scrolls, f'{scrolls} tabindex="0"')
    return page.replace('class="caption" role="heading"', 'class="caption"')


def _framed(image: str, picture: Path, address: str) -> str:
    """An image that opens alone when clicked, and its title as text, which phones show above it."""
    title = f'<span class="picture-title" aria-hidden="true">{_title(picture)}</span>'
    return f'{title}<a class="picture" href="{address}">{image}</a>'


def _title(picture: Path) -> str:
    """The title of an SVG, escaped for an attribute; other pictures are plots, without a title."""
    title = TITLE.search(picture.read_text(encoding="utf-8")) if picture.suffix == ".svg" else None
    return title[1].replace('"', "&quot;") if title else "The plot that the code above draws"


def _zip_python(root: Path, path: Path) -> None:
    """Zip the Python files that the pages run."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        course = root / "course"
        sources = [course / path / "__init__.py" for path in ("", "commands", "commands/web")]
        for package in PACKAGES:
            sources += sorted((course / package).rglob("*.py"))
        for source in sources:
            archive.write(source, source.relative_to(root))


def _run_sphinx(sources: Path, pages: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto"]
    done = subprocess.run(
        [*command, "-b", "html", str(sources), str(pages)], capture_output=True, text=True
    )
    if done.returncode:
        raise CourseError(f"Sphinx reports problems with the pages:\n{done.stderr[-2000:]}")
