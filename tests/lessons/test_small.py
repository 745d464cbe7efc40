"""Every small size is one that its script takes, of a command that nbval does not compare."""

import re

import pytest
from support.small import COMMAND, SIZES, small

from course.core.files import ROOT
from course.lessons import Lesson, read

EVERY = [(lab, script) for lab, scripts in SIZES.items() for script in scripts]


def lesson(lab: str) -> Lesson:
    """The lesson of a lab."""
    return read(ROOT / "course" / "lessons" / f"{lab}.md")


@pytest.mark.parametrize(("lab", "script"), EVERY)
def test_a_small_size_is_one_of_the_script(lab: str, script: str) -> None:
    text = lesson(lab).scripts(solved=True)[script]
    option, size = SIZES[lab][script].split()
    default = re.search(rf'add_argument\("{option}", type=int(?:, default=(\d+))?[,)]', text)
    assert default and (default[1] is None or 1 < int(size) < int(default[1]))


@pytest.mark.parametrize(("lab", "script"), EVERY)
def test_no_output_that_is_compared_comes_from_a_small_run(lab: str, script: str) -> None:
    commands = [
        cell
        for cell in lesson(lab).cells
        if any(match[1] == script for match in COMMAND.finditer(cell.source))
    ]
    assert commands
    for cell in commands:
        assert "nbval-ignore-output" in cell.options["tags"]
        assert small(cell.source, SIZES[lab]) != cell.source


def test_a_command_gets_its_size_last_and_everything_else_stays() -> None:
    sizes = {"src/a.py": "--rounds 2"}
    source = "x = 1\nrun = %torchrun --nproc-per-node $n src/a.py --rounds 9 $cap\nrun.ok"
    assert small(source, sizes) == source.replace("$cap", "$cap --rounds 2")
    others = "%%writefile src/a.py\n# %torchrun\n%python src/b.py --rounds 9\n%check a"
    assert small(others, sizes) == others
