"""`course site` replaces a folder only if that is a site, or empty."""

from pathlib import Path

import pytest

from course.commands import site
from course.commands.web import build
from course.core import CourseError


@pytest.mark.parametrize("name", ["thesis.tex", build.MARK])
def test_a_folder_with_something_else_is_refused_and_stays(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("two years of work")
    with pytest.raises(CourseError, match="holds something else: name a new folder"):
        site.main(["--out", str(tmp_path)])
    assert (tmp_path / name).read_text() == "two years of work"


def test_an_older_site_an_empty_folder_and_none_may_be_replaced(tmp_path: Path) -> None:
    assert build._is_ours(tmp_path) and build._is_ours(tmp_path / "new")
    (tmp_path / "index.html").touch()
    assert not build._is_ours(tmp_path)
    (tmp_path / build.MARK).write_text(build.REPLACED)
    assert build._is_ours(tmp_path)
    (tmp_path / "file").touch()
    assert not build._is_ours(tmp_path / "file")
