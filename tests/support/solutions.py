"""The scripts of a lab with all exercises solved, as its lesson has them."""

from functools import cache
from pathlib import Path

from course.lessons import lesson

LESSONS = Path(lesson.__file__).parent


@cache
def scripts(lab: str) -> dict[str, str]:
    """The solved scripts of the lab ``NN_name`` by file name."""
    solved = lesson.read(LESSONS / f"{lab}.md").scripts(solved=True)
    return {Path(target).name: text for target, text in solved.items()}


def write(lab: str, folder: Path) -> None:
    """Write the solved scripts of a lab into a folder."""
    for name, text in scripts(lab).items():
        (folder / name).write_text(text)
