"""Run Slurm's commands as in a terminal, and turn their error messages into clear sentences."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from course.core import CourseError

ANSWER_S = 30.0  # for a command; without a controller some try for a minute
INSTALL = (
    "On Debian and Ubuntu: apt-get install slurm-client, "
    "and the slurm.conf and munge key of your cluster."
)
NO_CONFIGURATION = (
    "Slurm's commands find no slurm.conf here: this machine is not part of a cluster."
)

# Slurm's messages, and their meanings for the learner.
MEANINGS = {
    "Unable to contact slurm controller": "Slurm's controller does not answer: "
    "see `scontrol ping`.",
    "Unable to process configuration": NO_CONFIGURATION,
    "Could not establish a configuration source": NO_CONFIGURATION,
    "Invalid partition name": "This cluster has no such partition: `sinfo` lists them.",
    "Requested node configuration is not available": "No nodes of this partition "
    "can ever give that: ask for fewer GPUs or cores or less memory per node; "
    "`sinfo -o '%P %D %G %c %m'` says what there is.",
    "Invalid account": "This cluster wants an account that you may charge: name it in `account`; "
    "`sacctmgr show associations user=$USER` lists yours.",
    "Invalid qos": "You have no such quality of service here: change `qos`; "
    "`sacctmgr show associations user=$USER format=account,qos` lists yours.",
    "Invalid feature": "No node has what `constraint` names: "
    "`sinfo -o '%N %f'` lists the features.",
    "Access/permission denied": "Slurm does not let you do that: "
    "it takes an operator of the cluster.",
    "Requested reservation not usable": "There is no such reservation for you now: "
    "see `scontrol show reservation`.",
    "Reservation request contains an invalid": "Slurm refuses this reservation: "
    "its nodes, users or times do not fit.",
    "Requested nodes are busy": "Those nodes are reserved or busy at that time: "
    "choose another start or other nodes.",
    "overlaps with another reservation": "Those nodes are reserved at that time: "
    "choose another start or other nodes.",
    "Job/step already completing or completed": "The job has ended already.",
}


class Refused(CourseError):
    """Slurm refused; `stderr` is its message."""

    def __init__(self, sentence: str, stderr: str) -> None:
        super().__init__(sentence)
        self.stderr = stderr


class Commands:
    """Runs Slurm's commands; `conf` is the path of a slurm.conf to use instead of the system's."""

    recorded = ""  # a recording has a note about itself here

    def __init__(self, conf: Path | None = None) -> None:
        self._env = dict(os.environ)
        if conf:
            self._env["SLURM_CONF"] = str(conf)
        # A job inherits this path, so it finds this Python and the torchrun next to it.
        self._env["PATH"] = os.pathsep.join(
            [str(Path(sys.executable).parent), self._env.get("PATH", os.defpath)]
        )

    def run(self, *words: str, stdin: str | None = None) -> str:
        """The output of one command, which reads `stdin` on its standard input.

        Raises `Refused` if Slurm refuses, `CourseError` if there is no Slurm or it does not answer.
        """
        if shutil.which(words[0], path=self._env["PATH"]) is None:
            raise CourseError(
                f"There is no Slurm on this machine ({words[0]} is not installed). {INSTALL}"
            )
        # Ask for times in seconds since the epoch, but not in sbatch, whose job would inherit this.
        env = self._env if words[0] == "sbatch" else self._env | {"SLURM_TIME_FORMAT": "%s"}
        try:
            done = subprocess.run(
                words, input=stdin, capture_output=True, text=True, env=env, timeout=ANSWER_S
            )
        except subprocess.TimeoutExpired:
            raise CourseError(
                f"{words[0]} did not answer within {ANSWER_S:g} s: is Slurm's controller up?"
            ) from None
        if done.returncode:
            raise Refused(meaning(words[0], done.stderr), done.stderr)
        return done.stdout

    def read(self, path: str) -> str | None:
        """The text of a file that a job writes; None if the file is not there."""
        try:
            return Path(path).read_text(errors="replace")
        except OSError:
            return None

    def now(self) -> float:
        """The current time, in seconds since the epoch."""
        return time.time()

    def pause(self, seconds: float) -> None:
        """Wait for this many seconds."""
        time.sleep(seconds)


def meaning(program: str, stderr: str) -> str:
    """Turn a command's error message into one sentence."""
    for words, sentence in MEANINGS.items():
        if words in stderr:
            return sentence
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return f"{program} refused: {lines[-1] if lines else 'it did not say why'}"
