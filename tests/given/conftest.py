"""The solved scripts of labs 06 and 06b, over `course.given.horovod`, and ranks to run them."""

from pathlib import Path

import pytest
from support.solutions import write

from course.checks.runner.on_ranks import CheckRanks
from course.launch import connect


@pytest.fixture(scope="module")
def src(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the solved scripts of both lessons; it also warms up ranks."""
    connect.warm_up()
    folder = tmp_path_factory.mktemp("hvd")
    for lab in ("06_horovod_style", "06b_horovod_engine"):
        write(lab, folder)
    return folder


@pytest.fixture(scope="module")
def ranks(src: Path):
    return CheckRanks(src).call
