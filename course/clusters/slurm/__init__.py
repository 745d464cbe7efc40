"""Slurm from a notebook: its own commands and formats, thinly wrapped.

cluster = slurm.connect()                       # this box's Slurm, or the recording of one
job = cluster.submit(slurm.Request("src/train.py", nodes=2, gpus=4, minutes=30))
job.follow()
"""

from course.clusters.slurm.batch import STRATEGIES, Request
from course.clusters.slurm.cluster import Cluster, connect
from course.clusters.slurm.form import Form, form
from course.clusters.slurm.recording import Recording
from course.clusters.slurm.submitted import Handle

__all__ = [
    "STRATEGIES",
    "Cluster",
    "Form",
    "Handle",
    "Request",
    "connect",
    "form",
    "recorded_tasks",
]


def recorded_tasks() -> list[dict[str, str]]:
    """What Slurm set in the environment of two of a job's four tasks, one for each of its two nodes: recorded."""
    return Recording.load().tasks()
