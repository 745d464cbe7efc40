"""One rank, or the ranks of one machine, of a run that others start: by srun, by mpirun, by hand.

Each such command watches what it has started, and all write to one folder. The command that has
started rank 0 judges and reports, and writes a file when the others are to end the run.
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

# The variables with which launchers name a process's rank and the number of ranks. Slurm comes
# last: mpirun within a job of Slurm leaves its variables as they are, which name no rank there.
RANKS = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
# Variables that have one value on all ranks of a run, and another in any other run.
JOBS = (
    ("TORCHELASTIC_RUN_ID",),
    ("PMIX_NAMESPACE",),
    ("OMPI_MCA_orte_hnp_uri",),
    ("SLURM_JOB_ID", "SLURM_STEP_ID"),
    ("MASTER_ADDR", "MASTER_PORT"),
)
RUN = ".course-run"  # the folder that a run makes within a shared one, and removes
MARK = FolderMark(
    "course-run.txt",
    "The course has made this folder for one run. At its end, it removes the folder, or renames it "
    "for --keep.\n",
)
KEPT = "run"  # ... or renames, to begin with this, if it is to be kept
END = "end"  # the file that ends the run, with the exit code of all commands
LEFT_S = 10.0  # for the other commands to read it: a launcher may kill them once one has ended


def rank() -> tuple[int, int]:
    """The rank of this process and the number of ranks; raises `CourseError` if unknown."""
    for names in RANKS:
        values = [os.environ.get(name, "") for name in names]
        if all(value.isdecimal() for value in values):
            return int(values[0]), int(values[1])
    raise CourseError(
        "--rank is for a command that srun, mpirun or torchrun starts once for each rank: here "
        "nothing says which rank this is. Set RANK and WORLD_SIZE."
    )


def default_folder() -> Path:
    """A folder below the current one, with a name on which all ranks of the run agree.

    Raises `CourseError` if no variable identifies the run.
    """
    for names in JOBS:
        values = [os.environ.get(name, "") for name in names]
        if all(values) and values != ["none"]:
            name = "".join(letter if letter.isalnum() else "-" for letter in "-".join(values))
            return Path(f"{RUN}-{name[:60]}")
    raise CourseError(
        "Nothing says which ranks belong together: give --folder, one that all of them see, and "
        "that no other run uses."
    )


def within(folder: Path) -> Path:
    """The run's own folder within one that all machines see, in which other things may lie.

    Raises `CourseError` if that is not there.
    """
    if not folder.is_dir():
        raise CourseError(f"There is no folder {folder}: --folder names one that all machines see.")
    return folder / RUN


@dataclass(frozen=True)
class SharedFolder:
    """The `folder` of a run, and that of this command's `own` ranks in it."""

    folder: Path
    own: Path

    def judges(self, ranks: Sequence[RankState]) -> bool:
        """Whether this command has started the lowest rank of those that have come."""
        return not ranks or ranks[0].mine

    @property
    def end(self) -> int | None:
        """The exit code of all commands, once the run is to be ended."""
        with contextlib.suppress(OSError, ValueError):
            return int((self.folder / END).read_text())
        return None

    def end_all(self, code: int) -> None:
        """Have all commands end what they started."""
        part = self.folder / f"{END}.part"
        part.write_text(str(code))
        part.replace(self.folder / END)


def make(folder: Path) -> None:
    """Make a folder; raises `CourseError` if that is not possible."""
    with _making(folder):
        folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def join(folder: Path, keep: bool) -> Iterator[SharedFolder]:
    """Share a run's folder; the last command to leave removes it, or renames it to `keep` it.

    Raises `CourseError` if it cannot be made, is not the course's, or is of a run that has ended.
    """
    shared = _enter(folder.absolute())
    try:
        yield shared
    finally:
        (shared.own / "here").unlink(missing_ok=True)
        _leave(shared, keep)


def _enter(folder: Path) -> SharedFolder:
    """Make a folder of this command's own within that of its run, and say that it is here."""
    # Commands in containers may have one host's name and one process id.
    own = folder / f"{os.uname().nodename}-{secrets.token_hex(4)}"
    while True:
        if not MARK.is_on(folder):
            _make_marked(folder, own.name)
        if not MARK.is_on(folder) and os.path.lexists(folder):
            raise CourseError(f"{folder} is there, and the course has not made it: move it away.")
        if (folder / END).exists():
            raise CourseError(f"{folder} is of a run that has ended: delete it, and start again.")
        with _making(own), contextlib.suppress(FileNotFoundError):  # it was removed just now
            own.mkdir()
            (own / "here").touch()
            return SharedFolder(folder, own)


def _make_marked(folder: Path, name: str) -> None:
    """Make a folder that has its mark as soon as it is there; other commands do the same."""
    new = folder.with_name(f"{folder.name}-{name}")
    make(new)
    with _making(folder):
        MARK.write(new)
    try:
        new.rename(folder)
    except OSError:  # something is there
        shutil.rmtree(new)


@contextmanager
def _making(folder: Path) -> Iterator[None]:
    """Raise `CourseError` if what is done inside the `with` is not possible."""
    try:
        yield
    except OSError as error:
        raise CourseError(f"The folder {folder} cannot be made: {error.strerror}.") from None


def _leave(shared: SharedFolder, keep: bool) -> None:
    """Remove the folder, or rename it, if no other command uses it: else the last of them does."""
    late = time.monotonic() + LEFT_S
    while (in_use := any(shared.folder.glob("*/here"))) and shared.end is not None:
        if time.monotonic() > late:
            return
        time.sleep(0.1)
    if in_use:
        return
    name = f"{KEPT if keep else shared.folder.name}-{shared.own.name}"
    with contextlib.suppress(OSError):  # another command left at this moment, and has done it
        if MARK.is_on(shared.folder):
            gone = shared.folder.rename(shared.folder.with_name(name))
            if not keep:
                shutil.rmtree(gone, ignore_errors=True)
