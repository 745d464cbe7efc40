"""What several tests of Slurm use."""

import pytest
from support.slurm import Nothing

from course.clusters import slurm


@pytest.fixture
def recorded() -> slurm.Cluster:
    """The cluster of the recording, which stands in where there is no Slurm."""
    return slurm.connect(Nothing)
