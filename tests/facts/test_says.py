"""The message for a contributor who removes a fact from a page."""

import pytest
from support.says import says


def test_a_fact_that_is_gone_names_the_page_and_the_line_of_its_test():
    says("03b_overlap", "25 MiB")
    with pytest.raises(AssertionError) as raised:
        says("03b_overlap", "25 MiB", "26 MiB")
    line = raised.traceback[0].lineno + 1
    assert "course/lessons/03b_overlap.md no longer names 26 MiB." in str(raised.value)
    assert f"tests/facts/test_says.py:{line}:" in str(raised.value)
