"""The checks of `sharded_state` judge nothing else: a wrong `my_fsdp` is another check's matter."""

from pathlib import Path

import pytest
from support import solutions

from course.checks.runner import session
from course.launch import connect

pytestmark = pytest.mark.slow


def test_it_is_right_beside_an_fsdp_that_is_wrong(tmp_path: Path) -> None:
    connect.warm_up()
    solutions.write("10b_fsdp", tmp_path)
    script = tmp_path / "my_fsdp.py"
    right, wrong = "if i > 0:", "if True:"  # from the first layer on, the last one stays whole
    assert script.read_text().count(right) == 1
    script.write_text(script.read_text().replace(right, wrong))
    (report,) = session.run(tmp_path, ["sharded_state"])
    assert report.ok, str(report)
