"""Commands of one rank each: which rank each is, and which commands make one run together."""

import os
from pathlib import Path

import pytest

from course.core import CourseError
from course.diagnostics import shared, terminal_run
from course.diagnostics.answers import options

# What each launcher sets for the second of four ranks: as we saw with Open MPI 4.1 and MPICH 4.0,
# and as Slurm and Open MPI 5 document it.
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
# Inside a batch script of Slurm: it is the first of two tasks, and there is no step.
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
    """Inside a Slurm job, too, the variables of mpirun count."""
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
    with shared.join(shared.run_folder_in(tmp_path), keep=False) as run:
        (run.own_folder / "report").write_text("steps")
    assert list(tmp_path.iterdir()) == [tmp_path / "model.pt"]


def test_what_an_earlier_run_left_is_named(tmp_path: Path) -> None:
    folder = tmp_path / ".course-run-7-0"
    folder.mkdir()
    shared.MARK.write(folder)
    (folder / "end").write_text("3")
    with (
        pytest.raises(CourseError, match=r"\.course-run-7-0 is of a run that has ended: "),
        shared.join(folder, keep=False),
    ):
        pass


@pytest.mark.parametrize("is_link", [False, True])
def test_a_folder_that_is_not_the_courses_is_refused_and_stays(
    tmp_path: Path, is_link: bool
) -> None:
    folder = tmp_path / ".course-run-7-0"
    users = tmp_path / "scratch" if is_link else folder
    users.mkdir()
    (users / "results.txt").write_text("two years of work")
    if is_link:
        shared.MARK.write(users)
        folder.symlink_to(users)
    before = sorted(tmp_path.rglob("*"))
    with (
        pytest.raises(CourseError, match="the course has not made it: move it away"),
        shared.join(folder, keep=False),
    ):
        pass
    assert sorted(tmp_path.rglob("*")) == before


def test_two_commands_of_one_host_name_and_process_id(tmp_path: Path) -> None:
    """As in two containers: the one that leaves first does not remove the other's folder."""
    folder = shared.run_folder_in(tmp_path)
    with shared.join(folder, keep=False) as one:
        with shared.join(folder, keep=False) as other:
            assert one.own_folder != other.own_folder and one.folder == other.folder
        assert (one.own_folder / "here").exists()
    assert list(tmp_path.iterdir()) == []


def test_a_slow_command_can_still_read_that_the_run_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "LEFT_S", 0.2)
    folder = shared.run_folder_in(tmp_path)
    with shared.join(folder, keep=False) as slow:
        with shared.join(folder, keep=False) as other:
            other.end_all(3)
        assert slow.end == 3
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_comes_as_the_last_one_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes the folder again, in place of the one that has just been removed."""
    folder, mkdir = shared.run_folder_in(tmp_path), Path.mkdir
    with shared.join(folder, keep=False):

        def too_late(path: Path, *args: object, **how: object) -> None:
            if path.parent == folder:
                monkeypatch.undo()
                folder.rename(tmp_path / "gone")
            mkdir(path, *args, **how)

        monkeypatch.setattr(Path, "mkdir", too_late)
        with shared.join(folder, keep=False) as other:
            assert shared.MARK.is_on(folder) and (other.own_folder / "here").exists()


@pytest.mark.parametrize("words", [["--rank"], ["--folder", "."], ["--rank", "--folder", "."]])
def test_what_is_kept_replaces_nothing(
    started_by, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """Neither a user's file, nor what an earlier run kept in the same folder."""
    monkeypatch.chdir(tmp_path)
    started_by(MPICH)
    kept = tmp_path / "kept"
    kept.mkdir()
    users = {"end": "of the story", "rank0.json": "{}"}
    for name, text in users.items():
        (kept / name).write_text(text)
    for report in ("first", "second"):
        args = options.run([*words, "--keep", "kept", "--", "true"])
        with terminal_run.open_folder(args) as (folder, run):
            assert run.end is None
            (folder / "rank0.json").write_text(report)
            run.end_all(3)
    assert {name: (kept / name).read_text() for name in users} == users
    reports = sorted(path.read_text() for path in kept.glob("run-*/rank0.json"))
    assert reports == ["first", "second"] and len(list(kept.iterdir())) == 4
    assert list(tmp_path.iterdir()) == [kept]
