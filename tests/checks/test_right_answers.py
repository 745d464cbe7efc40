"""Right answers that differ from the solution pass all checks of their exercise.

The right answers to the exercises of a lab are in ``tests/right_answers/NN_name.md``.
"""

from pathlib import Path

import pytest
from support import mutants, solutions
from support.answers import Answer
from support.patience import PATIENCE_S

from course.checks.runner import session

pytestmark = [pytest.mark.slow, pytest.mark.sampled, pytest.mark.usefixtures("warm_ranks")]

FILES = sorted((Path(__file__).parents[1] / "right_answers").glob("*.md"))
ANSWERS = [answer for path in FILES for answer in mutants.read(path)]


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_a_right_answer_passes(answer: Answer, tmp_path: Path) -> None:
    solutions.write(answer.lab, tmp_path)
    script = f"{answer.exercise}.py"
    (tmp_path / script).write_text(answer.script(solutions.scripts(answer.lab)[script]))
    (report,) = session.run(tmp_path, [answer.exercise], limit=PATIENCE_S)
    if not report.ok:
        pytest.fail(str(report), pytrace=False)  # pytest would shorten the message of an assertion
