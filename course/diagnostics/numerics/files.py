"""On a rank: note the files that the script overwrites or loads, by audit events and torch.

They show whether several ranks write the same file, and whether a run resumes from its own state.
"""

import os
import sys
from collections.abc import Callable, Mapping
from itertools import islice

import torch

from course.diagnostics.numerics.context import RankContext
from course.diagnostics.numerics.training import LoadedFile, WrittenFile
from course.diagnostics.watch import frames
from course.diagnostics.watch.hook_set import Args, Function, HookSet, Kwargs

MAX_FRAMES = 5  # between open() and the user's line; if there are more, a library opens the file
MAX_FILES = 200  # loaded files that are kept, and as many written ones
PROGRESS_KEYS = ("epoch", "step", "global_step", "iteration", "iter")  # the progress of a run
NOT_FILES = ("/dev/", "/proc/", "/sys/")


class Files:
    """Notes files that are loaded, or opened to be overwritten (not to append, create or patch).

    `on_write` is called each time that a file is overwritten, and `on_save` with each object that
    torch saves to a file.
    """

    def __init__(
        self,
        context: RankContext,
        on_write: Callable[[], None],
        on_save: Callable[[object], None],
    ) -> None:
        self._report, self._lines, self._fence = context
        self._on_write, self._on_save = on_write, on_save
        self._kinds: dict[int, tuple[str, list[str]]] = {}  # by load: folder and keys
        self._active = True

    def install(self, hooks: HookSet) -> None:
        """Install the hooks."""
        hooks.around(self._save, ("save",), torch)
        hooks.around(self._load, ("load",), torch)
        hooks.on_import(
            "safetensors.torch",
            lambda module: hooks.around(self._save_safetensors, ("save_file",), module),
        )
        # It cannot be removed, and costs little.
        sys.addaudithook(self._fence.guard(self._on_audit_event))

    def remove(self) -> None:
        """Stop noting files."""
        self._active = False

    def _on_audit_event(self, event: str, args: Args) -> None:
        if event != "open" or not self._active or not self._fence.is_ours:
            return
        path, _, flags = args
        if not isinstance(path, (str, bytes, os.PathLike)) or not flags & os.O_TRUNC:
            return
        with self._fence.around("files"):
            nearest = islice(frames.outwards(sys._getframe(2)), MAX_FRAMES)  # past the guard
            frame = next((frame for frame in nearest if self._lines.is_own(frame.f_code)), None)
            if frame is not None:
                self._note(path, self._lines.of(frame))

    def _save(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        path = args[1] if len(args) > 1 else kwargs.get("f")
        self._note_here(path)
        if isinstance(path, (str, os.PathLike)) and self._fence.is_ours:
            content = args[0] if args else kwargs.get("obj")
            with self._fence.around("buffers"):
                if not _is_device(path):
                    self._on_save(content)
            with self._fence.around("resume"):
                kind = _kind(path, content)
                for number, load in enumerate(self._report.loads):
                    load.saves |= self._kinds[number] == kind
        return real(*args, **kwargs)

    def _load(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        content = real(*args, **kwargs)
        path = args[0] if args else kwargs.get("f")
        number = len(self._report.loads)
        if isinstance(path, (str, os.PathLike)) and self._fence.is_ours and number < MAX_FILES:
            with self._fence.around("resume"):
                full_path = os.path.realpath(os.fsdecode(path))
                load = LoadedFile(full_path, self._lines.here(), self._report.passes_so_far)
                if isinstance(content, Mapping):
                    load.numbers = {
                        key: content[key] for key in PROGRESS_KEYS if type(content.get(key)) is int
                    }
                    load.optimizer = any(map(_is_optimizer_state, content.values()))
                self._kinds[number] = _kind(path, content)
                self._report.loads.append(load)
        return content

    def _save_safetensors(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        path = args[1] if len(args) > 1 else kwargs.get("filename")
        self._note_here(path)
        return real(*args, **kwargs)

    def _note_here(self, path: object) -> None:
        if isinstance(path, (str, os.PathLike)) and self._fence.is_ours:
            with self._fence.around("files"):
                self._note(path, self._lines.here())

    def _note(self, path: str | bytes | os.PathLike[str], line: str) -> None:
        if _is_device(path):
            return
        self._on_write()
        full_path = os.path.realpath(os.fsdecode(path))
        files, written = self._report.written, WrittenFile(full_path, line)
        if len(files) < MAX_FILES and written not in files:
            files.append(written)


def _is_device(path: str | bytes | os.PathLike[str]) -> bool:
    return os.path.realpath(os.fsdecode(path)).startswith(NOT_FILES)


def _kind(path: str | os.PathLike[str], content: object) -> tuple[str, list[str]]:
    """What makes two files of the same kind: their folder and the keys of their content."""
    keys = sorted(map(str, content)) if isinstance(content, Mapping) else [type(content).__name__]
    return os.path.dirname(os.path.realpath(os.fsdecode(path))), keys


def _is_optimizer_state(value: object) -> bool:
    """Whether a value is the state of an optimizer, and not an empty one."""
    return isinstance(value, Mapping) and "param_groups" in value and bool(value.get("state"))
