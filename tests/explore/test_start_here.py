"""Lab 00's pictures and quiz: the model of the collectives against real ranks, states that fit, and right verdicts."""

import itertools
import re
from pathlib import Path

import pytest
from support.mutants import write
from support.pictures import assert_fits

from course import explore
from course.core.errors import CourseError
from course.explore.models.collectives import COLLECTIVES, Example, counted
from course.explore.models.processes import job
from course.explore.models.split import by_data, by_layers, done, idle
from course.explore.pictures import collectives, processes, split
from course.explore.quiz import ASKED, Quiz
from course.launch import connect
from course.launch.client import launch

LAB = "00_start_here"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A learner's folder with the lab's scripts in src/, and ranks that start at once."""
    connect.warm_up()
    folder = tmp_path_factory.mktemp("learner")
    (folder / "src").mkdir()
    write(LAB, folder / "src")
    return folder


@pytest.fixture
def there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The learner's folder is the current one."""
    monkeypatch.chdir(folder)


@pytest.mark.parametrize(("ranks", "root", "op"), [(1, 0, "sum"), (3, 2, "max"), (4, 1, "sum")])
def test_the_model_of_every_collective_is_what_real_ranks_do(there, ranks, root, op):
    command = (
        f"torchrun --standalone --nproc-per-node {ranks} src/collectives.py --root {root} --op {op}"
    )
    run = launch(command.split(), limit=60)
    assert run.ok, run.text(0)
    printed = [
        dict(re.findall(r"^(\S+)[ ]*(.*)$", run.text(rank, "stdout"), re.MULTILINE))
        for rank in range(ranks)
    ]
    for name in COLLECTIVES:
        wanted = Example(name, counted(ranks), root, op).after()
        assert [row[name] for row in printed] == [
            " ".join(str(c.number) for c in cells) for cells in wanted
        ], name


def test_a_sum_remembers_whose_numbers_are_in_it():
    scattered = Example("reduce-scatter", counted(3)).after()
    assert [cell.sources for (cell,) in scattered] == [(0, 1, 2)] * 3
    assert Example("scatter", counted(3), root=1).pairs() == [(1, 0), (1, 2)]
    assert Example("barrier", counted(3)).after() == [[], [], []]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"name": "shuffle"}, "no collective 'shuffle'"),
        ({"numbers": ((1, 2), (3,))}, "as many numbers as there are ranks"),
        ({"root": 2}, "a rank from 0 to 1"),
        ({"op": "mean"}, "one of sum, max"),
    ],
)
def test_an_example_that_cannot_be_is_one_clear_sentence(wrong, says):
    with pytest.raises(CourseError, match=says):
        Example(**{"name": "reduce", "numbers": counted(2), **wrong})


@pytest.mark.parametrize("name", COLLECTIVES)
def test_every_state_of_the_collectives_fits_its_card(name):
    for ranks, moment, op in itertools.product((1, 2, 6), range(3), ("sum", "max")):
        assert_fits(collectives.draw(Example(name, counted(ranks), ranks - 1, op), moment))


def test_what_is_to_be_predicted_is_hidden_until_the_call_has_ended():
    before, after = (
        explore.collectives(collective="all-reduce", moment=moment).picture for moment in (0, 2)
    )
    assert ">60<" not in before and "to be predicted" in before
    assert after.count(">60<") == 4


def test_every_state_of_the_processes_and_the_split_fits_its_card():
    for nodes, each, look in itertools.product((1, 4), (1, 5, 8), (0, 31)):
        assert_fits(processes.draw(nodes, each, look))
    for by, ranks, parts in itertools.product(("data", "layers"), (1, 2, 3, 4), (1, 8)):
        assert_fits(split.draw(by, ranks, parts))


def test_ranks_are_numbered_node_by_node():
    assert [(p.rank, p.node, p.local_rank) for p in job(2, 2)] == [
        (0, 0, 0),
        (1, 0, 1),
        (2, 1, 0),
        (3, 1, 1),
    ]
    with pytest.raises(CourseError, match="at least one node"):
        job(0, 4)


def test_a_pipeline_waits_less_with_more_parts_and_never_computes_twice_at_once():
    assert (done(by_data(4)), idle(by_data(4))) == pytest.approx((0.75, 0))
    assert (done(by_layers(2, 1)), idle(by_layers(2, 1))) == pytest.approx((3, 0.5))
    for ranks, parts in itertools.product((1, 2, 4), (1, 3, 8)):
        pieces = by_layers(ranks, parts)
        assert idle(pieces) == pytest.approx((ranks - 1) / (ranks + parts - 1))  # Huang et al. 2019
        for rank in pieces:
            assert all(a.end <= b.start + 1e-9 for a, b in itertools.pairwise(rank))
    with pytest.raises(CourseError, match="at least one rank"):
        by_layers(2, 0)


@pytest.mark.parametrize("name", ASKED)
def test_the_quiz_agrees_with_a_right_prediction_and_with_no_other(there, name):
    quiz = Quiz().ask(name, ranks=2, seed=5)
    right = [" ".join(str(cell.number) for cell in cells) for cells in quiz.example.after()]
    verdict = quiz.predict(*right)
    assert verdict.right and verdict.summary == "2 of 2 predictions hold."
    assert "✓" in verdict._repr_html_() and "the run says" in repr(verdict)


def test_the_quiz_by_its_buttons(there):
    quiz = Quiz("all-gather", ranks=2)
    hidden, numbers = quiz._picture.value, quiz.example.numbers
    quiz._run.click()
    assert "Predict first" in quiz._said.value and quiz._picture.value == hidden
    for field in quiz._fields:
        field.value = f"{numbers[0][0]}, {numbers[1][0] + 1}"
    quiz._run.click()
    assert "0 of 2 predictions hold." in quiz._said.value and quiz._picture.value != hidden
    quiz._fields[0].value = "many"
    quiz._run.click()
    assert "made of whole numbers" in quiz._said.value
    quiz._other.click()
    assert quiz.example.numbers != numbers and not quiz._said.value and not quiz._fields[0].value
    quiz._many.value = 4
    assert len(quiz._row.children) == 4


def test_the_quiz_refuses_what_it_cannot_ask(there):
    with pytest.raises(CourseError, match="asks about broadcast"):
        Quiz("barrier")
    with pytest.raises(CourseError, match="runs 2 to 4 ranks"):
        Quiz(ranks=5)
    with pytest.raises(CourseError, match="3 ranks: give one answer for each"):
        Quiz().predict(1, 2)
    with pytest.raises(CourseError, match="no script src/none"):
        Quiz(script="src/none.py").predict(1, 2, 3)


def test_the_quiz_is_a_picture_where_there_is_no_kernel():
    data = Quiz()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert (
        data["text/plain"].endswith("After: to be predicted.") and "<svg" in data["image/svg+xml"]
    )


def test_a_gpu_that_is_not_there_is_one_clear_sentence(there):
    for gpus, says in (("99", "There is no GPU 99: this box has"), ("-1", "There is no GPU -1")):
        run = launch(["python", "src/spawn.py", "--gpus", gpus], limit=60)
        assert not run.ok and run.text(0).startswith(says), run.text(0)
        assert "Traceback" not in run.text(0)
