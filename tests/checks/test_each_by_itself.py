"""The checks of an exercise judge only it: other exercises of its lab may be open or wrong."""

from pathlib import Path

import pytest
from support import solutions
from support.patience import PATIENCE_S

from course.checks.runner import session
from course.launch import connect

pytestmark = [pytest.mark.slow, pytest.mark.sampled]


@pytest.mark.parametrize(
    ("lab", "exercise", "other"),
    [("06_horovod_style", "hvd_optimizer", "hvd_state"), ("10b_fsdp", "my_clip", "my_fsdp")],
)
def test_it_is_right_without_the_other(lab: str, exercise: str, other: str, tmp_path: Path) -> None:
    connect.warm_up()
    solutions.write(lab, tmp_path)
    (tmp_path / f"{other}.py").unlink()
    (report,) = session.run(tmp_path, [exercise], limit=PATIENCE_S)
    assert report.ok, str(report)
