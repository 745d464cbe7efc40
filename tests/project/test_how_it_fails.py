"""The pages on how a hard part fails are next to its code, and name only what exists."""

import re

import pytest

from course.core.files import ROOT

HARD = ["launch/forked", "launch/warm_server", "launch/supervisor"]
HARD += ["pretended/tensors", "pretended/nccl"]
PAGES = {name: (ROOT / "course" / f"{name}.md") for name in HARD}


def test_there_is_one_for_each_hard_part_and_its_code_names_it() -> None:
    there = {
        path
        for package in ("launch", "pretended")
        for path in (ROOT / "course" / package).glob("*.md")
    }
    assert there == set(PAGES.values())
    for name, page in PAGES.items():
        code = (ROOT / "course" / f"{name}.py").read_text()
        assert f"`{page.name}` lists how this can fail" in " ".join(code.split())


@pytest.mark.parametrize("name", HARD)
def test_what_it_names_is_there(name: str) -> None:
    """Files, tests and names in the code: an outdated page is worse than none."""
    code = "\n".join(path.read_text() for path in sorted((ROOT / "course").rglob("*.py")))
    missing = []
    for word in re.findall(r"`([\w./]+)`", PAGES[name].read_text()):
        if "/" in word and not word.startswith("/"):
            exists = (ROOT / word).exists()
        elif word.endswith(".py"):
            exists = any((ROOT / "course").rglob(word))
        else:
            exists = word.rpartition(".")[2] in code
        missing += [] if exists else [word]
    assert missing == []
