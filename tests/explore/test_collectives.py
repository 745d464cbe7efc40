"""The model of the collectives against real ranks, and pictures that fit."""

import re

import pytest
from support.patience import PATIENCE_S
from support.pictures import assert_fits

from course import explore
from course.core.errors import CourseError
from course.drawing import svg
from course.explore.models.collectives import COLLECTIVES, Example, counted
from course.explore.pictures.collectives import BEFORE, draw
from course.launch.client import launch


@pytest.mark.parametrize(("ranks", "root", "op"), [(1, 0, "sum"), (3, 2, "max"), (4, 1, "sum")])
def test_the_model_of_every_collective_is_what_real_ranks_do(in_learners_folder, ranks, root, op):
    command = (
        f"torchrun --standalone --nproc-per-node {ranks} src/collectives.py --root {root} --op {op}"
    )
    run = launch(command.split(), limit=PATIENCE_S)
    assert run.ok, run.text(0)
    held = {(row["rank"], row["collective"]): row["holds"] for row in run.rows if "holds" in row}
    for name in COLLECTIVES:
        expected = Example(name, counted(ranks), root, op).after()
        assert [held[rank, name] for rank in range(ranks)] == [
            " ".join(str(c.number) for c in cells) for cells in expected
        ], name


def test_a_sum_remembers_whose_numbers_are_in_it():
    scattered = Example("reduce-scatter", counted(3)).after()
    assert [cell.sources for (cell,) in scattered] == [(0, 1, 2)] * 3
    assert Example("scatter", counted(3), root=1).pairs() == [(1, 0), (1, 2)]
    assert Example("barrier", counted(3)).after() == [[], [], []]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "shuffle"}, "no collective 'shuffle'"),
        ({"numbers": ((1, 2), (3,))}, "as many numbers as there are ranks"),
        ({"root": 2}, "a rank from 0 to 1"),
        ({"op": "mean"}, "one of sum, max"),
    ],
)
def test_an_example_that_cannot_be_is_one_clear_sentence(wrong, message):
    with pytest.raises(CourseError, match=message):
        Example(**{"name": "reduce", "numbers": counted(2), **wrong})


def test_what_is_to_be_predicted_is_hidden_until_the_call_has_ended():
    before, after = (
        explore.collectives(collective="all-reduce", moment=moment).picture
        for moment in ("before", "after")
    )
    assert ">60<" not in before and "to be predicted" in before
    assert after.count(">60<") == 4


@pytest.mark.parametrize("collective", [name for name in COLLECTIVES if name != "barrier"])
@pytest.mark.parametrize("ranks", [2, 4, 6])
def test_numbers_are_as_wide_as_the_picture_has_room_for(collective, ranks):
    """At most a third of each side stays empty; with thin columns, most of it would."""
    example = Example(collective, counted(ranks))
    most = max(len(cells) for cells in [*example.before(), *example.after()])
    drawn = draw(example)
    assert_fits(drawn)
    (wide,) = {float(width) for width in re.findall(r'width="([\d.]+)" height="34"', drawn)}
    assert wide * most > 130
    assert f'width="{svg.number(wide)}" height="34"' in draw(example, BEFORE)
