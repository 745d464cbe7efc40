"""The pages for contributors name only files, folders and sections that exist."""

import re
from pathlib import Path

import pytest

from course.core.files import ROOT

PAGES = [ROOT / "CONTRIBUTING.md", ROOT / ".ci/README.md"]
PAGES += [ROOT / "tests" / folder / "README.md" for folder in (".", "diagnostics")]
PAGES += [ROOT / "course" / package / "README.md" for package in ("checks", "lessons")]
PAGES += sorted((ROOT / "course" / "diagnostics").glob("*/how.md"))
LINK = re.compile(r"\]\((?!http)([^)#]*)#?([^)]*)\)")
PATH = re.compile(r"`((?:course|tests|\.ci)/[\w./]+)`")
FORM = re.compile(r"\bNN_|[A-Z]{4}")  # a placeholder, as in course/commands/NAME.py


def sections(page: Path) -> set[str]:
    """The headings of a page, in the form in which a link names them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_what_is_there(page: Path) -> None:
    text = page.read_text()
    paths = [path for path in PATH.findall(text) if not FORM.search(path)]
    links = [
        (page.parent / path if path else page, section) for path, section in LINK.findall(text)
    ]
    assert paths or links
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert [str(path) for path, _ in links if not path.exists()] == []
    assert [link for link in links if link[1] and link[1] not in sections(link[0])] == []
