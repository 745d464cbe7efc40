"""What a notebook loads: the magics, live output, guesses, tables of claims and of changes."""

from course.notebook.claims import claims
from course.notebook.diff import Diff, diff
from course.notebook.displays import CurvesDisplay
from course.notebook.guess_form import it_was
from course.notebook.live import Live
from course.notebook.magics import load

__all__ = ["CurvesDisplay", "Diff", "Live", "claims", "diff", "it_was", "load"]
