"""What a cluster can never run is refused before it is submitted."""

import pytest

from course.clusters import slurm
from course.core.errors import CourseError


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (
            {"partition": "nope"},
            "There is no partition 'nope' here. Choose one of train (the default), debug.",
        ),
        ({"gpus": 5}, "No node of train has 5 GPUs (they have up to 4): ask for fewer per node."),
        ({"nodes": 4}, "train has 3 nodes with 1 GPU or more, not 4: ask for fewer nodes."),
        (
            {"minutes": 1441},
            "Jobs in train may take 1440 minutes, not 1441: "
            "ask for less time, and resume from a checkpoint.",
        ),
        (
            {"partition": "debug", "nodes": 2},
            "debug has 1 node with 1 GPU or more, not 2: ask for fewer nodes.",
        ),
        ({"reservation": "mine"}, "There is no reservation 'mine' here. This cluster has lecture."),
    ],
)
def test_what_the_cluster_can_never_run_is_said_before_it_is_submitted(recorded, wrong, why):
    with pytest.raises(CourseError) as refusal:
        recorded.submit(slurm.Request("src/resumable.py", **wrong))
    assert str(refusal.value) == why
