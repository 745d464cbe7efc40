"""``python -m course update``: fetch the new version, and keep what a learner wrote.

A notebook changes as soon as it is run, so `git pull` refuses to replace it. This command sets such
notebooks aside first, and then puts the learner's answers and notes into the new ones.
"""

import argparse
import shlex
import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import nbformat

# Import everything now: once the files have changed, an import would find the new version.
from course.commands.update_clone import UNHARMED, Clone
from course.commands.update_notebooks import Carried, carry, scripts
from course.core import ROOT, CourseError, words, write_atomically
from course.lessons import notebooks

BACKUPS = "before-update"  # the folder for notebooks set aside; git ignores it


def main(argv: Sequence[str]) -> int:
    """Fetch the new version, and keep everything that the learner wrote."""
    parser = argparse.ArgumentParser(
        prog="python -m course update",
        description="Fetch the new version of the course; your answers and notes stay.",
    )
    parser.parse_args(argv)
    clone = Clone(ROOT)
    versions = clone.fetch()
    if versions is None:
        print("This is the newest version of the course.")
        return 0
    old, new = versions
    coming = set(clone.coming(old, new))
    edited = [path for path in clone.edited_notebooks() if path in coming]
    if others := [path for path in clone.edited() if path in coming.difference(edited)]:
        raise CourseError(
            f"You changed {', '.join(others)}, and so does the new version: copy your version to "
            f"another place, type `git checkout HEAD -- {shlex.join(others)}` for the old one, "
            f"and start this command again. {UNHARMED}"
        )
    backup = Path(BACKUPS) / f"{datetime.now():%Y-%m-%d-%H%M%S}"
    _replace_notebooks(clone, new, edited, backup)
    print(f"The course is now the version of {clone.date()}.")
    for path in edited:
        print(_carry_over(clone, path, old, backup))
    if edited:
        print(
            f"Your old notebooks, with their outputs, are in {backup}. "
            "Is one of these open in Jupyter? Choose File > Reload Notebook from Disk there. "
            "If Jupyter asks, choose Revert: Overwrite brings the old notebook back."
        )
    print("Restart the kernels that run, because they still have the old version.")
    if coming & {"pyproject.toml", "constraints.txt"}:
        print("The course may need other packages now: `make base` installs them.")
    return 0


def _replace_notebooks(clone: Clone, new: str, edited: list[str], backup: Path) -> None:
    """Set notebooks aside and go to the new version; if that fails, put them back."""
    existing = [path for path in edited if (clone.root / path).is_file()]
    try:
        for path in existing:
            (clone.root / backup / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(clone.root / path, clone.root / backup / path)
    except OSError as error:
        shutil.rmtree(clone.root / backup, ignore_errors=True)
        raise CourseError(f"{backup} cannot be written: {error.strerror}. {UNHARMED}") from None
    try:
        if edited:
            clone.restore(edited)
        clone.forward(new)
    except BaseException:  # an interrupt, too
        _put_back(clone.root, existing, backup)
        raise


def _put_back(root: Path, paths: Sequence[str], backup: Path) -> None:
    try:
        for path in paths:
            shutil.copy2(root / backup / path, root / path)
    except OSError as error:
        raise CourseError(
            f"The update failed, and {error.filename} cannot be written: {error.strerror}. "
            f"Your notebooks are in {backup}."
        ) from None
    shutil.rmtree(root / backup, ignore_errors=True)


def _carry_over(clone: Clone, path: str, old: str, backup: Path) -> str:
    """Put what a learner wrote into a new notebook; return a sentence about the result."""
    mine, target = clone.root / backup / path, clone.root / path
    if not mine.is_file():
        return f"{path}: you had deleted it, and it is there again."
    if not target.is_file():
        return f"{path}: the new version does not have it."
    try:
        texts = (mine.read_text("utf-8"), clone.committed(path, old), target.read_text("utf-8"))
        read = [nbformat.reads(text, as_version=4) for text in texts]
        carried = carry(*read)
        if carried.taken:
            write_atomically(target, notebooks.text(carried.notebook))
    except (OSError, ValueError, KeyError, AttributeError, nbformat.ValidationError) as error:
        return f"{path}: nothing of yours could be put into the new version ({error})."
    return f"{path}: {_report(carried)}"


def _report(carried: Carried) -> str:
    """Say which cells were carried over into a notebook, and which were not."""
    answers, blank = scripts(carried.taken), scripts(carried.left)
    sentences = ["the new version, not yet run."]
    if carried.taken:
        cells = words.plural(len(carried.taken), "cell")
        named = f" ({', '.join(answers)})" if answers else ""
        sentences = [f"the new version, with {cells} of yours{named}."]
    if blank:
        sentences.append(
            f"{', '.join(blank)}: the cell is new, so yours is only in the old notebook."
        )
    if others := len(carried.left) - len(blank):
        cells = words.plural(others, "more cell")
        sentences.append(
            f"Only in the old notebook: {cells} that you changed, and that changed here."
        )
    return " ".join(sentences)
