"""A file is written whole or not at all."""

import pytest

from course.core.files import write_whole


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.ipynb"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "new \udc00")
    assert [file.name for file in tmp_path.iterdir()] == ["a.ipynb"] and path.read_text() == "old"
    assert path.stat().st_mode & 0o777 == 0o644
