"""The processes of a job: their numbers, pictures that fit, and a GPU that does not exist."""

import itertools
import re

import pytest
from support.patience import PATIENCE_S
from support.pictures import assert_fits

from course.core.errors import CourseError
from course.explore.models.processes import job
from course.explore.pictures import processes
from course.launch.client import launch


def test_every_state_of_the_processes_fits_its_card():
    for nodes, per_node in itertools.product((1, 4), (1, 5, 8)):
        for look in (0, nodes * per_node - 1):
            assert_fits(processes.draw(nodes, per_node, look))


def test_equal_local_ranks_have_one_colour_on_all_nodes():
    picture = str(processes.draw(2, 7, look=13))
    colours = re.findall(r'<rect [^>]*stroke="(#\w+)"[^>]*data-set="look', picture)
    assert len(colours) == 14 and colours[:7] == colours[7:] and len(set(colours)) == 7


def test_ranks_are_numbered_node_by_node():
    assert [(p.rank, p.node, p.local_rank) for p in job(2, 2)] == [
        (0, 0, 0),
        (1, 0, 1),
        (2, 1, 0),
        (3, 1, 1),
    ]
    with pytest.raises(CourseError, match="at least one node"):
        job(0, 4)


def test_a_gpu_that_is_not_there_is_one_clear_sentence(in_learners_folder):
    sentences = (("99", "There is no GPU 99: this machine has"), ("-1", "There is no GPU -1"))
    for gpus, message in sentences:
        run = launch(["python", "src/spawn.py", "--gpus", gpus], limit=PATIENCE_S)
        assert not run.ok and run.text(0).startswith(message), run.text(0)
        assert "Traceback" not in run.text(0)
