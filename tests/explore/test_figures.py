"""The drawings in images/."""

from support.pictures import assert_fits, assert_legible

from course import explore
from course.core.files import ROOT


def test_every_still_fits_is_legible_and_is_the_same_when_drawn_again():
    stills = explore.figures()
    assert len(stills) > 20
    for name, picture in stills.items():
        assert_fits(picture)
        assert_legible(picture)
        assert " id=" not in picture, name
    assert explore.figures() == stills


def test_every_still_is_shown_somewhere():
    pages = [ROOT / "README.md", *(ROOT / "course").rglob("*.md")]
    shown = "".join(page.read_text() for page in pages)
    assert [name for name in explore.figures() if name not in shown] == []
