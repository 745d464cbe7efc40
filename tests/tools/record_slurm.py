"""Record the session of a real Slurm that the notebook shows on machines without Slurm.

    PYTHONPATH=tests python tests/tools/record_slurm.py

takes eight minutes, needs Linux, root and the packages that support.practice_cluster names, and
writes recording.json into course/clusters/slurm. Three nodes have four pretended GPUs each. Ana,
Ben, Chi and Dan hold or want some. Your job waits, runs, loses a node, is requeued and continues
from its checkpoint. Then a signal says that its time is nearly up; it saves and continues again.
The output of Slurm's commands is kept word for word, except for the name and the paths of the
machine; of each job in `squeue --json`, only the fields that the course reads are kept.
"""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import threading
import time
from datetime import date
from pathlib import Path

from support.practice_cluster import PracticeCluster

from course.clusters.slurm.batch import Request
from course.clusters.slurm.cluster import HISTORY, Cluster
from course.clusters.slurm.commands import Commands, Refused
from course.clusters.slurm.recording import FILE
from course.lessons import lesson

HOME = Path("/home/you/labs")
PEOPLE = {"you": 0, "ana": 5001, "ben": 5002, "chi": 5003, "dan": 5004}
INSIDE = "RECORDING_SLURM"  # set in the mount namespace where these people exist
FIELDS = {
    "job_id",
    "name",
    "user_name",
    "partition",
    "job_state",
    "state_reason",
    "nodes",
    "node_count",
    "tres_per_node",
    "gres_detail",
    "submit_time",
    "start_time",
    "end_time",
    "time_limit",
    "restart_cnt",
    "exit_code",
    "standard_output",
}
VOLATILE = re.compile(r"(CPULoad|FreeMem|LastBusyTime)=\S+")  # of no interest here
TASK = ("JOB_ID", "JOB_NODELIST", "NNODES", "NTASKS", "PROCID", "NODEID", "LOCALID")


class Recorder(Commands):
    """Slurm's commands, with a record of every answer that is new."""

    def __init__(self, conf: Path) -> None:
        super().__init__(conf)
        self.entries: list[dict] = []
        self.begin = 0.0
        self._last: dict[str, str] = {}
        self._sizes: dict[Path, int] = {}
        self._lock = threading.Lock()

    def look(self) -> None:
        """Run every query that the course runs, and keep the answers that have changed."""
        self._keep("squeue --json", _trimmed(self.run("squeue", "--json", "--states=all")))
        for what in ("nodes", "partitions", "reservations"):
            words = ("scontrol", "--oneliner", "show", what)
            self._keep(" ".join(words), self.run(*words))
        for path in sorted(HOME.glob("runs/*.*")):
            if path.suffix in (".out", ".jsonl"):
                self._keep_growth(path)

    def keep(self, key: str, text: str) -> None:
        """Keep the answer to a command that changes something, with the state right after it."""
        self.look()
        self._keep(key, text)

    def _keep_growth(self, path: Path) -> None:
        """Keep what was added to a file."""
        text, known = path.read_text(), self._sizes.get(path, 0)
        whole = text[: text.rfind("\n") + 1]
        if len(whole) > known:
            self._sizes[path] = len(whole)
            self._keep(f"read {path}", whole[known:])

    def _keep(self, key: str, text: str, **more: str) -> None:
        with self._lock:
            gist = VOLATILE.sub("", text)
            if self._last.get(key) != gist:
                self._last[key] = gist
                self.entries.append({"at": round(time.time(), 2), "key": key, "text": text, **more})


def _trimmed(text: str) -> str:
    jobs = [{name: job[name] for name in FIELDS if name in job} for job in json.loads(text)["jobs"]]
    return json.dumps({"jobs": jobs}, sort_keys=True)


def enter() -> None:
    """Run this script again in a mount namespace where the people exist and /home is empty."""
    people = "".join(
        f"{name}:x:{uid}:{uid}::/home/{name}:/bin/bash\n" for name, uid in PEOPLE.items()
    )
    Path("/tmp/recording-passwd").write_text(people + Path("/etc/passwd").read_text())
    command = f"""
        mount --bind /tmp/recording-passwd /etc/passwd && mount -t tmpfs tmpfs /home &&
        mkdir -p {HOME}/src {HOME}/runs
        exec {sys.executable} {Path(__file__).resolve()}
    """
    env = os.environ | {INSIDE: "1", "USER": "you"}
    sys.exit(subprocess.run(["unshare", "--mount", "bash", "-c", command], env=env).returncode)


def submit_as(
    commands: Commands,
    user: str,
    name: str,
    nodes: int,
    gpus: int,
    minutes: int,
    seconds: int,
    *more: str,
) -> None:
    """Submit a job of another user."""
    options = (
        f"--uid={user} --job-name={name} --nodes={nodes} --gpus-per-node={gpus} "
        f"--ntasks-per-node=1 --cpus-per-task={gpus} --time={minutes} "
        "--output=/dev/null --chdir=/"
    )
    commands.run("sbatch", *options.split(), *more, f"--wrap=sleep {seconds}")


def until(condition, seconds: float = 120) -> None:
    end = time.time() + seconds
    while not condition():
        assert time.time() < end, "the recording does not get on"
        time.sleep(0.2)


def main() -> None:
    for path, text in (
        lesson.read(Path(lesson.__file__).parent / "09b_queue_and_restart.md")
        .scripts(solved=True)
        .items()
    ):
        (HOME / path).write_text(text)
    os.chdir(HOME)
    with PracticeCluster(nodes=3, gpus=4) as practice:
        recorder = Recorder(practice.conf)
        cluster = Cluster(recorder)
        record(practice, recorder, cluster)
        release = recorder.run("sinfo", "--version").split()[-1]
    about = (
        f"Recorded on {date.today():%-d %B %Y} from a real Slurm {release}, pretended GPUs: "
        "no Slurm answers here."
    )
    lines = [
        json.dumps(line, ensure_ascii=False) for line in (recorder.begin, about, *recorder.entries)
    ]
    text = re.sub(rf"\b{socket.gethostname()}\b", "host", "\n".join(lines) + "\n")
    for path, instead in (
        (Path(__file__).parents[2], HOME.parent / "course"),
        (Path(sys.base_prefix), "/usr"),
    ):
        text = text.replace(str(path), str(instead))
    FILE.write_text(text, encoding="utf-8")
    print(f"{len(recorder.entries)} answers, {FILE.stat().st_size / 1024:.0f} KiB")


def record(practice: PracticeCluster, recorder: Recorder, cluster: Cluster) -> None:
    """Run the session while the recorder watches."""
    submit_as(recorder, "ana", "vision", 1, 2, 40, 600)
    until(lambda: cluster.jobs()[0].state == "RUNNING")
    submit_as(recorder, "ben", "speech", 2, 2, 170, 600, "--nodelist=node2,node3", "--no-requeue")
    until(lambda: cluster.jobs()[1].state == "RUNNING")
    submit_as(recorder, "dan", "evaluation", 3, 2, 5, 12)
    until(lambda: cluster.jobs()[2].state == "RUNNING")
    submit_as(recorder, "chi", "large_model", 3, 4, 600, 600)
    cluster.reserve("lecture", "node3", "now+4hours", 60, "ana")
    time.sleep(3)  # the scheduler makes its plan
    recorder._keep("scontrol ping", recorder.run("scontrol", "ping"))
    try:
        recorder.run("sacct", "--allocations")
    except Refused as refusal:
        command = f"sacct --allocations --parsable2 --noheader --format={','.join(HISTORY)}"
        recorder._keep(command, "", error=refusal.stderr)
    recorder.look()
    recorder.begin = time.time()

    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.5):
            recorder.look()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        request = Request(
            "src/resumable.py --steps 200 --seconds 0.1",
            "torchrun",
            nodes=2,
            gpus=2,
            minutes=15,
            resume=True,
        )
        job = cluster.submit(request)
        recorder.keep("sbatch --parsable resumable", f"{job.number}\n")
        until(lambda: len(job.metrics) and job.metrics["step"].max() >= 70)
        practice.kill_node("node2")
        until(lambda: job.now.restarts == 1 and job.metrics["step"].max() >= 130)
        recorder.run("scancel", "--signal=USR1", "--batch", str(job.number))  # as Slurm would
        until(lambda: job.now.ended)
        time.sleep(1)
        practice.start_node("node2")
        time.sleep(3)
        wide = cluster.submit(
            Request("src/resumable.py", "torchrun", nodes=3, gpus=4, minutes=60, name="wide")
        )
        recorder.keep("sbatch --parsable wide", f"{wide.number}\n")
        time.sleep(4)
        wide.cancel()
        time.sleep(1)
        recorder.keep(f"scancel {wide.number}", "")
        recorder._keep("tasks", json.dumps(tasks(recorder)))
    finally:
        done.set()
        watcher.join()


def tasks(commands: Commands) -> list[dict[str, str]]:
    """What the first and the last of four tasks on two nodes find in their environment."""
    output = HOME / "runs/tasks.txt"
    show = f"echo $(env | grep -E '^SLURM_({'|'.join(TASK)})=')"
    options = "--wait --nodes=2 --ntasks-per-node=2 --time=1 --cpus-per-task=1 --job-name=tasks"
    wrapped = f"--wrap=srun bash -c {shlex.quote(show)}"
    commands.run("sbatch", *options.split(), f"--output={output}", wrapped)
    variables = []
    for line in sorted(output.read_text().splitlines()):
        env = dict(word.split("=", 1) for word in line.split())
        variables.append({f"SLURM_{name}": env[f"SLURM_{name}"] for name in TASK})
    return sorted(
        (task for task in variables if task["SLURM_PROCID"] in "03"),
        key=lambda task: task["SLURM_PROCID"],
    )


if __name__ == "__main__":
    main() if os.environ.get(INSIDE) else enter()
