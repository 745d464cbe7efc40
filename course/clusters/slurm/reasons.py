"""Say in words why a job waits, and until when."""

from course.clusters.slurm.records import Job
from course.core import words

# Slurm's reasons (https://slurm.schedmd.com/job_reason_codes.html), and whether waiting will help.
WAITING = {
    "Resources": "the GPUs it asked for are held by others",
    "Priority": "jobs in front of it come first",
    "BeginTime": "it may not start yet",
    "Dependency": "it waits for another job",
    "Reservation": "its reservation has not begun",
    "ReqNodeNotAvail": "its nodes are reserved or down",
    "JobHeldUser": "it is held: `scontrol release` frees it",
    "None": "the scheduler has not looked at it yet",
    "": "the scheduler has not looked at it yet",
}
NEVER = {
    "PartitionNodeLimit": "it asks for more nodes than its partition gives",
    "PartitionTimeLimit": "it asks for more time than its partition gives",
    "BadConstraints": "no node has what it asks for",
    "JobHeldAdmin": "an operator holds it",
    "AssocGrpGRES": "its account has used up its GPUs",
    "QOSMaxGRESPerUser": "you may not hold that many GPUs at once",
    "QOSMaxWallDurationPerJobLimit": "it asks for more time than its quality of service gives",
}


def why(job: Job) -> str:
    """The reason why the job has not started; "" if it has."""
    if job.state != "PENDING":
        return ""
    return NEVER.get(job.reason) or WAITING.get(job.reason) or job.reason


def never_starts(job: Job) -> bool:
    """Whether the job waits for something that will never come."""
    return job.state == "PENDING" and job.reason in NEVER


def when(job: Job, now: float) -> str:
    """The latest end of a running job, or the expected start of a waiting one; else ""."""
    moment = job.end if job.state == "RUNNING" else job.start
    if not moment or job.state not in ("RUNNING", "PENDING"):
        return ""
    return f"in {words.long_duration(moment - now)}"
