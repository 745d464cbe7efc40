"""Every lab follows the rules for a finished lab, and each fault is reported with its line."""

from pathlib import Path

import pytest

from course.core.files import ROOT
from course.lessons import finished
from course.lessons.lesson import lessons, read

NAME = "08b_why"
TEXT = (ROOT / "course" / "lessons" / f"{NAME}.md").read_text(encoding="utf-8")
CODE = "x = 1\n" * 1000


@pytest.mark.parametrize("lesson", lessons(ROOT), ids=lambda lesson: lesson.name)
def test_it_is_finished(lesson):
    assert finished.unfinished(ROOT, lessons(ROOT), [lesson]) == []


def script(*lines: str) -> str:
    """A cell that writes a script, placed before the first code cell."""
    text = "\n".join(
        ["```{code-cell}", "%%writefile src/a.py", '"""src/a.py: a."""', *lines, "```"]
    )
    return f"{text}\n\n```{{code-cell}}\n%load_ext"


FIRST = "```{code-cell}\n%load_ext"
BROKEN = {
    "no link to the glossary": ("](../labs/glossary.md", "](../labs/words.md", "no link to labs"),
    "dead term": ("glossary.md#", "glossary.md#no-", "has no entry #no-"),
    "no next": ("\nNext: ", "\nThen: ", "the last cell ends with a paragraph of its own"),
    "placeholder": (FIRST, "## TO WRITE: why?\n\n" + FIRST, "a placeholder of `make exercise`"),
    "no top": ("**You need**", "**It needs**", "three points in `>`"),
    "no minutes": ("  minutes:", "  hours:", "has minutes, seconds and needs below"),
    "short": ("minutes: 40", "minutes: 20", "takes 30 to 70 minutes, not 20"),
    "less than it takes": (
        "minutes: 40",
        "minutes: 30",
        "it takes 40 minutes, and its header says",
    ),
    "no seconds": ("seconds: ", "seconds: -", "so it is above 0"),
    "unknown lab": ('needs: ["', 'needs: ["99", "', "needs lab 99, which is none"),
    "another lab": ('needs: ["', 'needs: ["00", "', "**You need** names the labs"),
    "no time": ("about {{ minutes }}", "some {{ minutes }}", "says `about {{ minutes }} minutes`"),
    "no exercise": ("%check ", "%hint ", "a lab has an exercise"),
    "many words": (FIRST, "word " * 9000 + "\n\n" + FIRST, "for one sitting"),
    "many characters": (FIRST, "#" * 45_000 + "\n\n" + FIRST, "characters more than 45000"),
    "wide": (FIRST, "word " * 30 + "\n\n" + FIRST, "columns: wrap prose"),
    "code alone": (FIRST, script(CODE), "words a line at least"),
    "only to read": (FIRST, script(CODE), "nothing to run or to write"),
    "folded without a word": ("hide-input]\n\n# ", "hide-input]\n\n#", "begins with a comment"),
    "no run": ("%why torchrun", "%why --help", "runs it on ranks from a cell"),
    "acts when imported": (FIRST, script("DataLoader(d, num_workers=2)"), "nothing may act here"),
    "model after its group": (
        FIRST,
        script("def main():", "    model = DDP(net)", "    dist.destroy_process_group()"),
        "destroys the group while it still has a model",
    ),
}


@pytest.mark.parametrize(("old", "new", "reason"), BROKEN.values(), ids=BROKEN)
def test_what_is_missing_is_told_with_its_line(tmp_path: Path, old: str, new: str, reason: str):
    assert old in TEXT
    (tmp_path / f"{NAME}.md").write_text(TEXT.replace(old, new), encoding="utf-8")
    broken = read(tmp_path / f"{NAME}.md")
    every = [broken if lesson.name == NAME else lesson for lesson in lessons(ROOT)]
    lines = finished.unfinished(ROOT, every, [broken])
    assert any(reason in fault for fault in lines), lines
    assert all(fault.startswith(f"course/lessons/{NAME}.md:") for fault in lines)


def test_the_first_lab_needs_no_other_and_the_next_ones_do():
    start, first, second, *_ = lessons(ROOT)
    assert not first.needs and second.needs
    lacks = finished.unfinished(ROOT, [start, second, first], [second, first])
    assert any("needs lab 00, which is none of the labs before it" in fault for fault in lacks)
    assert any("every lab but the first needs another" in fault for fault in lacks)
