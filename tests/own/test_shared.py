"""Commands of one rank each: which rank it is, and with which others it belongs together."""

import os
from pathlib import Path

import pytest

from course.core import CourseError
from course.own import shared

# What each launcher sets for the second of four ranks: Open MPI 4.1 and MPICH 4.0 as seen, Slurm
# and Open MPI 5 as they document it.
SRUN = {"SLURM_PROCID": "1", "SLURM_NTASKS": "4", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}
OPEN_MPI_4 = {
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_MCA_orte_hnp_uri": "413925376.0;tcp://192.0.2.2:35525",
}
OPEN_MPI_5 = {
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_SIZE": "4",
    "PMIX_NAMESPACE": "prterun-node0-1234@1",
}
MPICH = {"PMI_RANK": "1", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1"}
MEETING = {"MASTER_ADDR": "node0", "MASTER_PORT": "29500"}
# Within a batch script of Slurm: its own task, the first of two, and no step.
BATCH = {"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_JOB_ID": "7"}


@pytest.fixture
def started_by(monkeypatch: pytest.MonkeyPatch):
    """Set the variables of a launcher, and no others."""

    def start(variables: dict[str, str]) -> None:
        for name in os.environ:
            if name.startswith(("RANK", "WORLD", "SLURM", "OMPI", "PMI", "MASTER", "TORCHELASTIC")):
                monkeypatch.delenv(name)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return start


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        (SRUN, ".course-run-7-0"),
        (SRUN | MEETING, ".course-run-7-0"),
        (OPEN_MPI_4, ".course-run-413925376-0-tcp---192-0-2-2-35525"),
        (OPEN_MPI_5, ".course-run-prterun-node0-1234-1"),
        (OPEN_MPI_5 | BATCH, ".course-run-prterun-node0-1234-1"),
        (
            OPEN_MPI_4 | BATCH | {"SLURM_STEP_ID": "3"},
            ".course-run-413925376-0-tcp---192-0-2-2-355",
        ),
        (MPICH | MEETING, ".course-run-node0-29500"),
        (MPICH | MEETING | BATCH, ".course-run-node0-29500"),
    ],
)
def test_what_a_launcher_says_of_a_rank(started_by, variables: dict, folder: str) -> None:
    """Those of mpirun count within a job of Slurm, too."""
    started_by(variables)
    assert shared.rank() == (1, 4)
    assert str(shared.default_folder()).startswith(folder)


def test_without_a_job_a_folder_must_be_given(started_by) -> None:
    started_by(MPICH)
    assert shared.rank() == (1, 4)
    with pytest.raises(CourseError, match="give --folder"):
        shared.default_folder()


def test_only_the_folder_of_the_run_goes(tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_text("weights")
    with shared.join(shared.within(tmp_path), keep=False) as run:
        (run.own / "report").write_text("steps")
    assert list(tmp_path.iterdir()) == [tmp_path / "model.pt"]


def test_what_an_earlier_run_left_is_named(tmp_path: Path) -> None:
    with shared.join(shared.within(tmp_path), keep=True) as run:
        run.end_all(3)
    with pytest.raises(CourseError, match=r"\.course-run is of a run that has ended: "):
        shared.within(tmp_path)
