"""Slurm's commands when they complain, do not answer, or are missing."""

import pytest
from support.slurm import NoSlurm

from course.clusters import slurm
from course.clusters.slurm import commands
from course.clusters.slurm.recording import Recording
from course.core.errors import CourseError


@pytest.mark.parametrize(
    ("stderr", "sentence"),
    [
        (
            "sbatch: error: invalid partition specified: x\n"
            "sbatch: error: Batch job submission failed: Invalid partition name specified\n",
            "This cluster has no such partition: `sinfo` lists them.",
        ),
        (
            "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
            "Slurm's controller does not answer: see `scontrol ping`.",
        ),
        (
            "sbatch: error: Batch job submission failed: "
            "Invalid account or account/partition combination specified\n",
            "This cluster wants an account that you may charge: name it in `account`; "
            "`sacctmgr show associations user=$USER` lists yours.",
        ),
        ("sbatch: error: something new\n", "sbatch refused: sbatch: error: something new"),
        ("", "sbatch refused: it did not say why"),
    ],
)
def test_what_slurm_complains_about_becomes_one_sentence(stderr, sentence):
    assert commands.meaning("sbatch", stderr) == sentence


def test_without_slurm_there_is_one_sentence_and_a_recording():
    with pytest.raises(
        CourseError, match="There is no Slurm on this machine \\(scontrol is not installed\\)"
    ):
        NoSlurm().run("scontrol", "ping")
    cluster = slurm.connect(NoSlurm)
    assert isinstance(cluster.commands, Recording)
    assert repr(cluster).startswith("Recorded on ")


def test_slurms_commands_without_a_configuration_are_no_slurm(tmp_path):
    for program in ("scontrol", "squeue"):
        (tmp_path / program).write_text(
            "#!/bin/sh\necho 'fatal: Unable to process configuration file' >&2\nexit 1\n"
        )
        (tmp_path / program).chmod(0o755)

    class Unconfigured(commands.Commands):
        def __init__(self) -> None:
            super().__init__()
            self._env["PATH"] = str(tmp_path) + ":/usr/bin:/bin"

    with pytest.raises(CourseError, match="this machine is not part of a cluster"):
        Unconfigured().run("squeue", "--json")
    assert slurm.connect(Unconfigured).commands.recorded


def test_a_command_that_does_not_answer_is_said(tmp_path, monkeypatch):
    (tmp_path / "squeue").write_text("#!/bin/sh\nexec sleep 30\n")
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setattr(commands, "ANSWER_S", 0.2)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(CourseError, match=r"squeue did not answer within 0\.2 s"):
        commands.Commands().run("squeue", "--json")
