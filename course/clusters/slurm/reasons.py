"""Why a job waits and until when, in words."""

from course.clusters.slurm.records import Job

# Slurm's reasons (https://slurm.schedmd.com/job_reason_codes.html), and whether waiting will help.
WAITING = {
    "Resources": "the GPUs it asked for are held by others",
    "Priority": "jobs in front of it come first",
    "BeginTime": "it may not begin yet",
    "Dependency": "it waits for another job",
    "Reservation": "its reservation has not begun",
    "ReqNodeNotAvail": "its nodes are reserved or down",
    "JobHeldUser": "it is held: scontrol release",
    "None": "the scheduler has not looked at it yet",
    "": "the scheduler has not looked at it yet",
}
NEVER = {
    "PartitionNodeLimit": "it asks for more nodes than its partition gives",
    "PartitionTimeLimit": "it asks for more time than its partition gives",
    "BadConstraints": "no node is as it asks",
    "JobHeldAdmin": "an operator holds it",
    "AssocGrpGRES": "its account has used up its GPUs",
    "QOSMaxGRESPerUser": "you may not hold so many GPUs at once",
    "QOSMaxWallDurationPerJobLimit": "it asks for more time than its quality of service gives",
}


def why(job: Job) -> str:
    """Why it has not started, "" if it has."""
    if job.state != "PENDING":
        return ""
    return NEVER.get(job.reason) or WAITING.get(job.reason) or job.reason


def hopeless(job: Job) -> bool:
    """Whether it waits for something that waiting does not bring."""
    return job.state == "PENDING" and job.reason in NEVER


def when(job: Job, now: float) -> str:
    """When a running job's GPUs are free at the latest, or when a waiting one is expected to start."""
    moment = job.end if job.state == "RUNNING" else job.start
    if not moment or job.state not in ("RUNNING", "PENDING"):
        return ""
    return f"in {span(moment - now)}"


def span(seconds: float) -> str:
    """A stretch of time for a reader: 40 s, 12 min, 3 h 20 min, 2 d 4 h."""
    if seconds < 90:
        return f"{max(0, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h" + (f" {minutes} min" if minutes else "")
    return f"{hours // 24} d" + (f" {hours % 24} h" if hours % 24 else "")
