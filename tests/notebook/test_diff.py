"""The changes from one script to the next: lines that a person wrote, without the markers."""

import pytest

from course.core import CourseError
from course.notebook import diff

BEFORE = "import torch\n\n\ndef device():\n    return 'cpu'\n"
AFTER = """import torch


def device():
    ### BEGIN SOLUTION hint: Which GPU is free?
    index = 1

    return f"cuda:{index}"
    ### END SOLUTION
"""


def test_lines_are_counted_without_blank_ones_and_the_markers_of_a_solution(tmp_path):
    for name, text in (("before.py", BEFORE), ("after.py", AFTER)):
        (tmp_path / name).write_text(text)
    difference = diff(str(tmp_path / "before.py"), str(tmp_path / "after.py"))
    assert (difference.added, difference.removed) == (2, 1)
    assert "SOLUTION" not in repr(difference) and "SOLUTION" not in difference._repr_html_()


def test_a_byte_that_is_not_utf_8_is_shown_as_a_replacement_mark(tmp_path):
    for name, text in (("before.py", b"a = 1\n"), ("after.py", b"a = 1  # \xff\n")):
        (tmp_path / name).write_bytes(text)
    difference = diff(str(tmp_path / "before.py"), str(tmp_path / "after.py"))
    assert difference.lines[-1] == "+a = 1  # \N{REPLACEMENT CHARACTER}"


def test_a_script_that_is_not_written_yet_is_named(tmp_path):
    with pytest.raises(CourseError, match=r"^There is no script .*none\.py: run the cell"):
        diff(str(tmp_path / "none.py"), str(tmp_path / "none.py"))
