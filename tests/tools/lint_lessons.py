"""Check the scripts and cells of the lessons with ruff; `make lint` runs this.

Each script is a file, and the other cells of a lesson are one more. In that file, what only
notebooks do (values to show, imports between cells, names of IPython) is not a fault.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager

from course.core import ROOT, lesson_marks
from course.lessons import Lesson, lessons

WIDTH = 120  # columns, as a lesson's prose
NAMES = "from IPython import display, get_ipython"  # that every notebook has
IN_CELLS = ("B015", "B018", "E402", "E703", "F704", "E501", "F401", "F811")
# `for epoch in …` reads better than `for _ in …`, and comments are aligned in a column.
IN_BOTH = ("B007", "B905", "I001", "SIM117")
REEXPORTING = ("devices.py:F401", "hvd.py:F401")  # modules that only gather names


def write(lesson: Lesson, folder: Path) -> None:
    """Write the solved scripts of a lesson, and its other cells as `cells.py`."""
    folder.mkdir()
    for target, text in lesson.scripts(solved=True).items():
        lines = lesson_marks.unmarked(text.splitlines())
        (folder / Path(target).name).write_text("\n".join([*lines, ""]))
    code = [cell.source for cell in lesson.code if not cell.target]
    plain = [TransformerManager().transform_cell(source) for source in code]
    (folder / "cells.py").write_text("\n\n".join([NAMES, *plain]))


def main() -> int:
    """Lint all lessons; return ruff's exit code."""
    with tempfile.TemporaryDirectory() as temporary:
        for lesson in lessons(ROOT):
            write(lesson, Path(temporary, lesson.name))
        ignored = ",".join(IN_BOTH)
        per_file = [*REEXPORTING, *(f"cells.py:{rule}" for rule in IN_CELLS)]
        command = ["check", "--quiet", "--output-format=concise", f"--extend-ignore={ignored}"]
        command += [f"--config={ROOT / 'pyproject.toml'}", f"--line-length={WIDTH}"]
        command += [f"--extend-per-file-ignores={','.join(per_file)}"]
        ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or "ruff"
        return subprocess.run([ruff, *command, "."], cwd=temporary).returncode


if __name__ == "__main__":
    sys.exit(main())
