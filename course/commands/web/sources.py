"""Write everything that Sphinx reads into a folder: the pages' texts and their pictures."""

import shutil
from pathlib import Path

import nbformat

from course.commands.web.front import front_page, start_page
from course.commands.web.gallery import GALLERY, exhibit_page, exhibits, gallery_page
from course.commands.web.hosted import Repository
from course.commands.web.lab_page import links, page
from course.commands.web.references import read_sources, references
from course.commands.web.ring.trial import PAGE, trial_page
from course.core import write_atomically
from course.lessons import labs

HERE = Path(__file__).parent
UNREAD = shutil.ignore_patterns("__pycache__")


def write_sources(root: Path, out: Path, repository: Repository | None = None) -> None:
    """Write the sources of the pages into the new folder `out`."""
    every = labs(root)
    read = [nbformat.read(root / "solutions" / f"{lab.name}.ipynb", 4) for lab in every]
    solved = {lab.number: notebook for lab, notebook in zip(every, read, strict=True)}
    texts = {
        "index": front_page(every, solved, repository),  # before `page` changes the notebooks
        "start": start_page(every, repository),
        PAGE: trial_page(),
        GALLERY: gallery_page(),
        "glossary": links((root / "labs" / "glossary.md").read_text(encoding="utf-8")),
        "install": (root / "INSTALL.md").read_text(encoding="utf-8"),
        "references": references(every, read_sources(root)),
        "teaching": (root / "TEACHING.md").read_text(encoding="utf-8"),
        "how_it_works": (HERE / "texts" / "how_it_works.md").read_text(encoding="utf-8"),
    }
    texts |= {exhibit.page: exhibit_page(exhibit, every) for exhibit in exhibits()}
    for name, text in texts.items():
        write_atomically(out / f"{name}.md", text)
    for lab in every:
        node = page(lab, solved[lab.number], repository)
        write_atomically(out / f"{lab.name}.ipynb", nbformat.writes(node))
    shutil.copytree(root / "images", out / "images")
    shutil.copytree(root / "course" / "given", out / "course" / "given", ignore=UNREAD)
    shutil.copyfile(HERE / "conf.py", out / "conf.py")
