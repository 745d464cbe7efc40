"""A fixture that asks `why` about a planted script."""

from pathlib import Path

import pytest
from support.watching import watch_ranks

from course.diagnostics import WhyAnswer

PLANTS = Path(__file__).with_name("plants")


@pytest.fixture
def answer(warm_ranks: None, tmp_path: Path) -> object:
    """Run a planted script on real ranks, and return the answer of `why`."""

    def ask(make: str, cause: str, count: int = 2) -> WhyAnswer:
        words = ["torchrun", "--standalone", "--nproc-per-node", str(count)]
        run, reports = watch_ranks([*words, str(PLANTS / f"{make}.py"), cause, str(tmp_path)])
        assert run.ok, run.text(run.first_failed)
        return WhyAnswer(reports)

    return ask
