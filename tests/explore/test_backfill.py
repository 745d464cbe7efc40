"""A cluster's queue: the plan by hand, what backfill may do, pictures at every setting."""

import itertools
import xml.etree.ElementTree as ElementTree

import pytest
from support.pictures import TITLE_CHARACTERS

from course import explore
from course.core import words
from course.core.errors import CourseError
from course.explore.models.backfill import GPUS, NODES, RUNNING, WAITING, Wish, place, plan
from course.explore.pictures.backfill import draw
from course.explore.stills.nodes import levels, meeting

SETTINGS = list(
    itertools.product(range(1, NODES + 1), range(1, GPUS + 1), (0.5, 3, 6, 6.5, 12), (True, False))
)


def test_a_plan_worked_out_by_hand():
    # Chi needs every GPU, and waits until hour 6 for Ben's job. Dan waits for Chi's five hours, and
    # so do you unless you end by hour 6.
    starts = {job.wish.name.partition(":")[0]: job.start for job in plan(Wish("You", 1, 2, 8))}
    assert starts == {"Ana": 0, "Ben": 0, "Chi": 6, "Dan": 11, "You": 11}
    assert plan(Wish("You", 1, 2, 6))[-1].start == 0
    assert plan(Wish("You", 1, 4, 3))[-1].start == 3  # when Ana's node is free
    assert plan(Wish("You", 1, 4, 3.5))[-1].start == 11
    assert (
        plan(Wish("You", 1, 2, 1), backfill=False)[-1].start == 11
    )  # in its turn, after Dan's start


def test_nobody_before_you_waits_longer_and_no_gpu_is_given_twice():
    for nodes, gpus, hours, backfill in SETTINGS:
        jobs = plan(Wish("You", nodes, gpus, hours), backfill)
        alone = [job.start for job in plan(Wish("You", 1, 1, 0.5), backfill)[:-1]]
        assert [job.start for job in jobs[:-1]] == alone
        for one, other in itertools.combinations(jobs, 2):
            if one.start < other.end and other.start < one.end:
                held = [
                    {(node, gpu) for node, gpus in job.places for gpu in gpus}
                    for job in (one, other)
                ]
                assert not held[0] & held[1]
        assert len(jobs[-1].places) == nodes and all(
            len(held) == gpus for _, held in jobs[-1].places
        )


def test_the_picture_says_when_you_start_and_is_well_formed():
    for nodes, gpus, hours, backfill in SETTINGS:
        picture = draw(nodes, gpus, hours, backfill)
        ElementTree.fromstring(picture)
        title = picture.alt.partition(" h")[0] + " h"
        assert title.startswith(f"Ask for {words.significant(hours)} h")
        whole = picture[picture.index("<title>") + 7 : picture.index("</title>")]
        assert len(whole) <= TITLE_CHARACTERS
        assert whole.endswith("you start at once") == (
            plan(Wish("You", nodes, gpus, hours), backfill)[-1].start == 0
        )


def test_what_can_never_run_is_refused():
    with pytest.raises(CourseError, match="There are 3 nodes with 4 GPUs, not 4 with 1"):
        plan(Wish("You", 4, 1, 1))
    with pytest.raises(CourseError, match="You can never run here"):
        place(Wish("You", 1, 5, 1), [*RUNNING], 0.0)
    assert WAITING[0].nodes * WAITING[0].gpus == NODES * GPUS


def test_the_explorable_and_the_stills():
    widget = explore.backfill(hours=3)
    assert "start at once" in widget.picture
    for figure in (widget.picture, meeting(), levels()):
        ElementTree.fromstring(figure)
