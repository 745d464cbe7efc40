"""`course site` replaces a folder only if it is a site, or empty."""

from pathlib import Path

import pytest

from course.commands import site
from course.commands.web import build
from course.core import CourseError


@pytest.mark.parametrize("name", ["thesis.tex", build.MARK.name])
def test_a_folder_with_something_else_is_refused_and_stays(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("two years of work")
    with pytest.raises(CourseError, match="holds something else: name a new folder"):
        site.main(["--out", str(tmp_path)])
    assert (tmp_path / name).read_text() == "two years of work"


def test_an_older_site_an_empty_folder_and_none_may_be_replaced(tmp_path: Path) -> None:
    may_replace = build.MARK.may_replace
    assert may_replace(tmp_path) and may_replace(tmp_path / "new")
    (tmp_path / "index.html").touch()
    assert not may_replace(tmp_path)
    build.MARK.write(tmp_path)
    assert may_replace(tmp_path)
    (tmp_path / "file").touch()
    assert not may_replace(tmp_path / "file")
