"""One run that several commands make together: one command per rank, or one per machine.

srun, mpirun or the user starts these commands. Each watches the ranks that it has started, and all
write to one shared folder. The command that started rank 0 judges the run and reports on it. To end
the run, it writes a file that the others see.
"""

import contextlib
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from course.core import CourseError, FolderMark
from course.diagnostics.watch.rank_states import RankState

# The variables in which launchers give a process its rank and the number of ranks. Slurm's come
# last: mpirun inside a Slurm job leaves them unchanged, and then they do not give the rank.
RANK_VARIABLES = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
# Variables that have the same value on all ranks of a run, and another value in any other run.
JOB_VARIABLES = (
    ("TORCHELASTIC_RUN_ID",),
    ("PMIX_NAMESPACE",),
    ("OMPI_MCA_orte_hnp_uri",),
    ("SLURM_JOB_ID", "SLURM_STEP_ID"),
    ("MASTER_ADDR", "MASTER_PORT"),
)
RUN_FOLDER = ".course-run"  # what a run makes inside a shared folder, and removes at its end
MARK = FolderMark(
    "course-run.txt",
    "The course has made this folder for one run. At its end, it removes the folder, or renames it "
    "for --keep.\n",
)
KEPT_PREFIX = "run"  # with --keep, the run's folder gets a name that begins with this
END_FILE = "end"  # the file that ends the run; it holds the exit code for all commands
LEFT_S = 10.0  # for the others to read that file: a launcher may kill them once one has ended


def rank() -> tuple[int, int]:
    """This process's rank, and the number of ranks; raises `CourseError` if unknown."""
    for names in RANK_VARIABLES:
        values = [os.environ.get(name, "") for name in names]
        if all(value.isdecimal() for value in values):
            return int(values[0]), int(values[1])
    raise CourseError(
        "--rank is for a command that srun, mpirun or torchrun starts once for each rank: here "
        "nothing says which rank this is. Set RANK and WORLD_SIZE."
    )


def default_folder() -> Path:
    """A path in the current folder that is the same for all ranks of the run.

    Raises `CourseError` if no variable identifies the run.
    """
    for names in JOB_VARIABLES:
        values = [os.environ.get(name, "") for name in names]
        if all(values) and values != ["none"]:
            name = "".join(letter if letter.isalnum() else "-" for letter in "-".join(values))
            return Path(f"{RUN_FOLDER}-{name[:60]}")
    raise CourseError(
        "Nothing says which ranks belong together: give --folder, one that all of them see, and "
        "that no other run uses."
    )


def run_folder_in(folder: Path) -> Path:
    """The run's path inside a folder that all machines see and that may hold other files.

    Raises `CourseError` if `folder` does not exist.
    """
    if not folder.is_dir():
        raise CourseError(f"There is no folder {folder}: --folder names one that all machines see.")
    return folder / RUN_FOLDER


@dataclass(frozen=True)
class SharedFolder:
    """The `folder` of a run, and in it the `own_folder` of the ranks that this command starts."""

    folder: Path
    own_folder: Path

    def judges(self, ranks: Sequence[RankState]) -> bool:
        """Whether this command started the lowest of the ranks seen so far, or none was seen."""
        return not ranks or ranks[0].mine

    @property
    def end(self) -> int | None:
        """The exit code for all commands, once the run is to end; None before."""
        with contextlib.suppress(OSError, ValueError):
            return int((self.folder / END_FILE).read_text())
        return None

    def end_all(self, code: int) -> None:
        """Tell all commands to end what they started, and to exit with this code."""
        part = self.folder / f"{END_FILE}.part"
        part.write_text(str(code))
        part.replace(self.folder / END_FILE)


def make(folder: Path) -> None:
    """Make a folder unless it exists; raises `CourseError` if that fails."""
    with _making(folder):
        folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def join(folder: Path, keep: bool) -> Iterator[SharedFolder]:
    """Share a run's folder; the last command to leave removes it, or renames it to `keep` it.

    Raises `CourseError` if the folder cannot be made, was not made by the course, or belongs to a
    run that has ended.
    """
    shared_folder = _enter(folder.absolute())
    try:
        yield shared_folder
    finally:
        (shared_folder.own_folder / "here").unlink(missing_ok=True)
        _leave(shared_folder, keep)


def _enter(folder: Path) -> SharedFolder:
    """Make this command's own folder inside the run's, with a file that marks it as in use."""
    # Commands in different containers may have the same host name and process id.
    own_folder = folder / f"{os.uname().nodename}-{secrets.token_hex(4)}"
    while True:
        if not MARK.is_on(folder):
            _make_marked(folder, own_folder.name)
        if not MARK.is_on(folder) and os.path.lexists(folder):
            raise CourseError(f"{folder} is there, and the course has not made it: move it away.")
        if (folder / END_FILE).exists():
            raise CourseError(f"{folder} is of a run that has ended: delete it, and start again.")
        # The run's folder may have been removed just now.
        with _making(own_folder), contextlib.suppress(FileNotFoundError):
            own_folder.mkdir()
            (own_folder / "here").touch()
            return SharedFolder(folder, own_folder)


def _make_marked(folder: Path, name: str) -> None:
    """Make a folder that has its mark from the start, although other commands may make it too."""
    new = folder.with_name(f"{folder.name}-{name}")
    make(new)
    with _making(folder):
        MARK.write(new)
    try:
        new.rename(folder)
    except OSError:  # another command was faster, or the name is taken
        shutil.rmtree(new)


@contextmanager
def _making(folder: Path) -> Iterator[None]:
    """Turn an `OSError` inside the `with` into a `CourseError`."""
    try:
        yield
    except OSError as error:
        raise CourseError(f"The folder {folder} cannot be made: {error.strerror}.") from None


def _leave(shared_folder: SharedFolder, keep: bool) -> None:
    """Remove or rename the run's folder, unless another command still uses it and will do so."""
    deadline = time.monotonic() + LEFT_S
    while (in_use := any(shared_folder.folder.glob("*/here"))) and shared_folder.end is not None:
        if time.monotonic() > deadline:
            return
        time.sleep(0.1)
    if in_use:
        return
    name = f"{KEPT_PREFIX if keep else shared_folder.folder.name}-{shared_folder.own_folder.name}"
    with contextlib.suppress(OSError):  # another command left at the same moment, and did it
        if MARK.is_on(shared_folder.folder):
            renamed = shared_folder.folder.rename(shared_folder.folder.with_name(name))
            if not keep:
                shutil.rmtree(renamed, ignore_errors=True)
