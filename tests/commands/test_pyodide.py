"""A package from npm is unpacked only if it has the checksum that the course knows."""

import pytest

from course.commands.web import pyodide
from course.core import CourseError


def test_another_file_than_the_one_that_is_known_is_refused(tmp_path, monkeypatch):
    program = tmp_path / "npm"
    program.write_text("#!/bin/sh\necho other > package.tgz\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CourseError, match=r"npm brought a pyodide@\S+ with another checksum"):
        pyodide.add(tmp_path / "pyodide")
    assert not (tmp_path / "pyodide").exists()
