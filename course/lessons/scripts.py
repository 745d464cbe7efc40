"""Write the scripts of the lessons, and keep files in labs/ that somebody has changed."""

from datetime import datetime
from pathlib import Path

from course.core import KEPT, write_atomically
from course.lessons.lesson import Lesson


def write_scripts(root: Path, chosen: list[Lesson]) -> None:
    """Write the scripts that the cells would write, both blank and solved; run nothing.

    A script in labs/src that somebody has changed is moved aside first.
    """
    for lesson in chosen:
        for target, script in lesson.scripts(solved=False).items():
            path = root / "labs" / target
            if path.exists() and path.read_bytes() != script.encode():
                move_to_kept(root, path)
            write_atomically(path, script)
        for target, script in lesson.scripts(solved=True).items():
            write_atomically(root / "solutions" / target, script)


def move_to_kept(root: Path, path: Path) -> None:
    """Move a file of labs/ to labs/src/kept, and print where it is."""
    name = f"{path.stem}-{datetime.now():%Y-%m-%d-%H%M%S}{path.suffix}"
    kept = root / "labs" / "src" / KEPT / name
    kept.parent.mkdir(parents=True, exist_ok=True)
    path.rename(kept)
    old, new = path.relative_to(root), kept.relative_to(root)
    print(f"{old} differed from what is handed out. It is kept as {new}.")
