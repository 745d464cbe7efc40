"""The page try_ring is right about torch: the same code runs on real ranks over Gloo."""

import pytest
from support import on_rank_ring_answers
from support.patience import PATIENCE_S
from support.ring_answers import RIGHT

from course.checks.runner.on_ranks import CheckRanks

pytestmark = [pytest.mark.slow, pytest.mark.rest]


@pytest.mark.parametrize("ranks", [3, 4])
def test_right_answers_of_the_page_run_unchanged_under_torchrun(tmp_path, ranks):
    names = [f"answer_{number}" for number in range(len(RIGHT))]
    for name, source in zip(names, RIGHT.values(), strict=True):
        (tmp_path / f"{name}.py").write_text(source)
    sums = [float(i * int("1" * ranks)) for i in range(1, 11)]
    for held in CheckRanks(tmp_path).call(
        ranks, on_rank_ring_answers.sums, names, limit=PATIENCE_S
    ):
        assert held == [sums] * len(names)
