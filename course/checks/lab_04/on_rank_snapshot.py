"""What the checks of lab 04's snapshots do on each rank."""

import fcntl
import importlib
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist

from course.checks.lab_04.on_rank_files import difference, watch
from course.checks.tools.leaks import count_process_groups

KILLS = 8  # at moments that are spread over all of a save
# Of this many last moments, every second one too: there a new file takes the place of the old one.
LAST = 24
OLD, NEW = ({"weights": torch.full((5000,), number), "step": number} for number in (1, 2))
# A state as a run has it: nested, with several dtypes, and numbers that another dtype would change.
NESTED = {
    "averages": torch.tensor([1 / 3, float("nan"), float("inf")], dtype=torch.float64),
    "model": {"scale": torch.tensor([1 / 3, float("-inf")], dtype=torch.float64)},
    "optimizer": {
        "state": {0: {"step": torch.tensor(2**53 + 1), "average": torch.rand(3).bfloat16()}},
        "param_groups": [{"lr": 5e-4, "betas": (0.9, 0.999), "foreach": None, "params": [0, 1]}],
    },
    "random": [{"cpu": torch.arange(8, dtype=torch.uint8), "used": torch.tensor([True, False])}],
    "step": 2**40 + 1,
}
RENAMED = "a file that is whole on the disk gets its name"


class Unsavable:
    """A part of a state that cannot be saved, as if the disk were full."""

    def __reduce__(self) -> tuple:
        raise OSError(28, "No space left on device")


def round_trip() -> tuple[dict | None, str]:
    """What `read` gives before anything was written, when not even the folder was there.

    Then what it changes in a written state, "" if nothing.
    """
    module, path = importlib.import_module("snapshot"), _path("new") / "model.pt"
    before = module.read(path)
    module.write(NESTED, path)
    return before, difference(module.read(path), NESTED)


def failed() -> tuple[str | None, str | None]:
    """Write a state that cannot be saved: the error that is raised, and why no old one is left."""
    module, path = importlib.import_module("snapshot"), _path() / "model.pt"
    module.write(OLD, path)
    error = None
    try:
        module.write(NEW | {"more": Unsavable()}, path)
    except Exception as raised:
        error = str(raised)
    return error, _unlike_both(path)


def killed() -> tuple[int, list[str]]:
    """Kill a save at many moments: how many, and after which of them no whole snapshot is left."""
    module, path = importlib.import_module("snapshot"), _path() / "model.pt"
    total = _moments(module, path)
    own = {at for at, mine in total if mine}
    spread = {len(total) * i // KILLS for i in range(KILLS)} | set(
        range(max(0, len(total) - LAST), len(total), 2)
    )
    lost = []
    for moment in sorted(own | spread):
        for file in path.parent.iterdir():
            file.unlink()
        module.write(OLD, path)
        _in_child(lambda moment=moment: _killed_at(moment, module, path))
        if (why := _unlike_both(path)) is not None:
            lost.append(f"{moment} of {len(total)}: {why}")
    return len(own | spread), lost


def left_over() -> tuple[list[str], str, int]:
    """What lies in the folder after saves of which some were killed half-way.

    Then how the last state differs from what was saved after the kills, "" if not, and by how many
    bytes its file is larger than one that was saved into an empty folder.
    """
    module, path = importlib.import_module("snapshot"), _path() / "model.pt"
    moments = _moments(module, path)
    last = [at for at, mine in moments if mine][-4:]  # the second file is written, or renamed
    for moment in (len(moments) // 2, *last):
        _in_child(lambda moment=moment: _killed_at(moment, module, path))
    files = sorted(file.name for file in path.parent.iterdir())
    module.write(NEW, path)
    fresh = _path() / path.name
    module.write(NEW, fresh)
    longer = path.stat().st_size - fresh.stat().st_size
    return files, _unlike_both(path) or "", longer


def path_of(descriptor: int) -> Path:
    """The file behind a descriptor, as Linux or macOS tells it."""
    if hasattr(fcntl, "F_GETPATH"):
        return Path(
            os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
        )
    return Path(f"/proc/self/fd/{descriptor}").resolve()


def happened() -> list[str]:
    """What happens at the name of a snapshot while it is written, in order; right is `RENAMED`."""
    module, path, seen = importlib.import_module("snapshot"), _path() / "model.pt", []
    module.write(OLD, path)
    synced = set()

    def syncing(real: Callable) -> Callable:
        def sync(file: object) -> None:
            real(file)
            descriptor = file if isinstance(file, int) else file.fileno()
            name = path_of(descriptor)
            if name.is_file() and _unlike_both(name) is None:
                synced.add(os.fstat(descriptor).st_ino)

        return sync

    def renamed(source: Path) -> None:
        if path.parent not in source.resolve().parents:
            seen.append(f"a file of another folder is moved there, from {source.parent}")
        elif source.stat().st_ino in synced:
            seen.append(RENAMED)
        else:
            seen.append("a file gets its name that was not forced to the disk as a whole")

    for name in ("fsync", "fdatasync"):
        setattr(os, name, syncing(getattr(os, name)))
    watch(path, seen.append, renamed)
    module.write(NEW, path)
    return seen


def _path(*parts: str) -> Path:
    return Path(tempfile.mkdtemp(), *parts)


def _moments(module: object, path: Path) -> list[tuple[int, bool]]:
    """The moments of a save: each line of Python that it runs, and whether it is the learner's."""
    for state in (OLD, NEW):  # imports at the first save take lines that no later save does
        module.write(state, path)
    seen: list[tuple[int, bool]] = []

    def trace(frame: object, event: str, _: object) -> Callable:
        if event == "line":
            seen.append((len(seen), frame.f_code.co_filename == module.__file__))
        return trace

    sys.settrace(trace)
    try:
        module.write(NEW, path)
    finally:
        sys.settrace(None)
    return seen


def _killed_at(moment: int, module: object, path: Path) -> None:
    """Save the new snapshot, and die by SIGKILL at that moment of it."""
    count = 0

    def trace(frame: object, event: str, _: object) -> Callable:
        nonlocal count
        if event == "line":
            if count == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1
        return trace

    sys.settrace(trace)
    module.write(NEW, path)


def _in_child(task: Callable[[], None]) -> None:
    child = os.fork()
    if child == 0:
        try:
            task()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def _unlike_both(path: Path) -> str | None:
    """Why the file is neither the old snapshot nor the new one, None if it is one of them."""
    if not path.exists():
        return "there is no snapshot"
    try:
        state = torch.load(path, weights_only=True)
    except Exception as error:
        return f"the snapshot cannot be read ({type(error).__name__})"
    same = any(not difference(state, other) for other in (OLD, NEW))
    return None if same else "the snapshot is a mixture"


def random_states() -> tuple[list[bool], list[float], list[int], int]:
    """Whether entry r of the list has rank r's states, that of a made-up GPU too, for each r.

    Then what this rank draws before and after its state was restored, which GPU state was restored,
    and how many process groups two calls have made.
    """
    module, rank = importlib.import_module("snapshot"), dist.get_rank()
    restored = []
    torch.cuda.is_initialized = lambda: True
    torch.cuda.get_rng_state = lambda *_: torch.tensor([rank], dtype=torch.uint8)
    torch.cuda.set_rng_state = lambda state, *_: restored.append(int(state))
    torch.manual_seed(100 + rank)
    torch.rand(3)
    expected = []
    for other in range(dist.get_world_size()):
        generator = torch.Generator().manual_seed(100 + other)
        torch.rand(3, generator=generator)
        on_gpu = torch.tensor([other], dtype=torch.uint8)
        expected.append({"cpu": generator.get_state(), "cuda": on_gpu})
    module.random_states()
    states = module.random_states()
    same = [
        not difference(dict(state), right) for state, right in zip(states, expected, strict=True)
    ]
    first = torch.rand(()).item()
    module.restore_random_states(states)
    made = count_process_groups() - 1
    return same, [first, torch.rand(()).item()], restored, made


def shares(size: int, places: list[tuple[int, int] | None]) -> list[list[int]]:
    """The samples that this rank draws from each place (epoch, done); None: from there again."""
    sampler, drawn = importlib.import_module("snapshot").Shares(range(size)), []
    state = torch.get_rng_state()
    for place in places:
        if place:
            sampler.at(*place)
        drawn.append(list(sampler))
    same = torch.equal(torch.get_rng_state(), state)
    assert same, "drawing samples moves torch's own random generator, from which dropout draws"
    return drawn
