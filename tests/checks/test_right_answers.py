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
TRAINS = (
    "test_wrap",
    "test_shares",
    "test_reshuffles",
    "test_same_as_one_process",
    "test_accuracy",
)
# By answer or exercise: the checks of the part that is changed; all of them where none are named.
CHECKS = {
    "simple_ways": ("test_sum", "test_dtypes", "test_messages", "test_loose_ends"),
    "ring": ("test_sum", "test_reduce_scatter", "test_all_gather", "test_bytes", "test_loose_ends"),
    "ddp": ("test_joins", "test_gpu"),
    "ddp: It deals every n-th sample, and sums up objects": TRAINS,
    "ddp: It has a sampler of batches, and evaluates blocks": TRAINS,
    "ddp: It deals with a sampler of its own, and reduces the count to rank 0": TRAINS,
    "my_scaler": (
        "test_gradients",
        "test_formats",
        "test_decisions",
        "test_finds",
        "test_same_decision",
        "test_message",
    ),
    "hvd_fusion": ("test_threshold", "test_bytes", "test_looks_ahead", "test_pack", "test_unpack"),
    "hvd_state": ("test_parameters", "test_together", "test_object", "test_optimizer"),
    "hvd_optimizer": ("test_during_backward", "test_requests", "test_options", "test_clipping"),
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
    for check in CHECKS.get(str(answer)) or CHECKS.get(answer.exercise, [""]):
        for result in session.run(tmp_path, [answer.exercise], only=check):
            assert result.outcome == session.PASSED, result.message
