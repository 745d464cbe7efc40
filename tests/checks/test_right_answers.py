"""Right answers that are made otherwise than the solution pass the checks of what they change.

Those to the exercises of a lab are in ``tests/right_answers/NN_name.md``.
"""

from pathlib import Path

import pytest
from support import mutants, solutions
from support.answers import Answer

from course.checks.engine import session
from course.launch import connect

FILES = sorted((Path(__file__).parents[1] / "right_answers").glob("*.md"))
ANSWERS = [answer for path in FILES for answer in mutants.read(path)]
# By exercise: the checks of the part that its answers change; all of them where none are named.
CHECKS = {
    "ddp": ("test_joins", "test_gpu"),
    "hvd_fusion": ("test_pack", "test_unpack"),
    "hvd_state": ("test_parameters", "test_together"),
    "hvd_optimizer": ("test_during_backward", "test_options", "test_clipping"),
    "way_ddp": ("test_same_training", "test_counts_every_image_once"),
}


@pytest.fixture(scope="module", autouse=True)
def warm_ranks() -> None:
    """Ranks that start at once."""
    connect.warm_up()


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_a_right_answer_passes(answer: Answer, tmp_path: Path) -> None:
    solutions.write(answer.lab, tmp_path)
    script = f"{answer.exercise}.py"
    (tmp_path / script).write_text(answer.script(solutions.scripts(answer.lab)[script]))
    for check in CHECKS.get(answer.exercise, [""]):
        for result in session.run(tmp_path, [answer.exercise], only=check):
            assert result.outcome == session.PASSED, result.message
