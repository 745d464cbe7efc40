"""What the checks of lab 04's snapshots do on each rank."""

import importlib
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist

KILLS = 8  # at moments that are spread over all of a save
# Of so many last moments, every second one too: there a new file takes the place of the old one.
LAST = 24
OLD, NEW = ({"weights": torch.full((5000,), number), "step": number} for number in (1, 2))


def round_trip() -> tuple[dict | None, dict | None]:
    """What `read` gives before and after `write`; before, not even the folder was there."""
    module, path = importlib.import_module("snapshot"), _path("new") / "model.pt"
    before = module.read(path)
    module.write(OLD, path)
    return before, module.read(path)


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


def left_over() -> list[str]:
    """What lies in the folder after five saves, of which three were killed half-way."""
    module, path = importlib.import_module("snapshot"), _path() / "model.pt"
    half = len(_moments(module, path)) // 2
    for number in range(5):
        if number % 2:
            _in_child(lambda: _killed_at(half, module, path))
        else:
            module.write(NEW, path)
    _in_child(lambda: _killed_at(half, module, path))
    return sorted(file.name for file in path.parent.iterdir())


def calls() -> list[str]:
    """What happens to the snapshot while it is written, in order.

    "sync": a file with all of it is forced to the disk; "rename": a file gets its name.
    """
    module, path, seen = importlib.import_module("snapshot"), _path() / "model.pt", []
    fsync, names = os.fsync, {name: getattr(os, name) for name in ("replace", "rename")}

    def sync(descriptor: int) -> None:
        fsync(descriptor)
        file = Path(f"/proc/self/fd/{descriptor}").resolve()
        if file.is_file() and _unlike_both(file) is None:
            seen.append("sync")

    def renaming(real: Callable) -> Callable:
        def rename(source: object, target: object, **options: object) -> None:
            real(source, target, **options)
            seen.append("rename" if Path(target) == path else f"rename to {target}")

        return rename

    os.fsync = sync
    for name, real in names.items():
        setattr(os, name, renaming(real))
    module.write(OLD, path)
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
    same = any(
        state["step"] == other["step"] and torch.equal(state["weights"], other["weights"])
        for other in (OLD, NEW)
    )
    return None if same else "the snapshot is a mixture"


def random_states() -> tuple[list[bool], list[float]]:
    """Whether entry r of the list is rank r's state, for each r.

    Also what this rank draws before and after its state was restored.
    """
    module, rank = importlib.import_module("snapshot"), dist.get_rank()
    torch.manual_seed(100 + rank)
    expected = []
    for other in range(dist.get_world_size()):
        expected.append(torch.Generator().manual_seed(100 + other).get_state())
    states = module.random_states()
    same = [
        torch.equal(state["cpu"], wanted) for state, wanted in zip(states, expected, strict=True)
    ]
    first = torch.rand(()).item()
    module.restore_random_states(states)
    return same, [first, torch.rand(()).item()]


def shares(size: int, places: list[tuple[int, int]]) -> list[list[int]]:
    """The samples that this rank draws from each place (epoch, done)."""
    sampler, drawn = importlib.import_module("snapshot").Shares(range(size)), []
    for epoch, done in places:
        sampler.at(epoch, done)
        drawn.append(list(sampler))
    return drawn
