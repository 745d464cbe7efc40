"""An interactive course on multi-GPU training.

Importing `course` is cheap: scripts take `log`, data and small models from it; notebooks load the
rest.
"""

from course.core import log

__all__ = ["__version__", "log"]
__version__ = "0.2.0"


def load_ipython_extension(shell: object) -> None:
    """`%load_ext course` in a notebook."""
    from course.notebook import load  # the one import upwards: `%load_ext` looks for it here

    load(shell)
