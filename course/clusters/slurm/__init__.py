"""Slurm from a notebook: a thin wrapper around its own commands and formats.

cluster = slurm.connect()                       # this machine's Slurm, or the recording of one
job = cluster.submit(slurm.Request("src/train.py", nodes=2, gpus=4, minutes=30))
job.follow()
"""

from course.clusters.slurm.batch import STRATEGIES, Request
from course.clusters.slurm.cluster import Cluster, connect
from course.clusters.slurm.form import Form, form
from course.clusters.slurm.recording import Recording
from course.clusters.slurm.submitted import SubmittedJob

__all__ = [
    "STRATEGIES",
    "Cluster",
    "Form",
    "Request",
    "SubmittedJob",
    "connect",
    "form",
    "recorded_tasks",
]


def recorded_tasks() -> list[dict[str, str]]:
    """The recorded environment variables that Slurm set for two of a job's four tasks.

    They ran on different nodes: the first task on the first node, the last one on the second.
    """
    return Recording.load().tasks()
