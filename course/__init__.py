"""An interactive course on multi-GPU training.

Importing `course` is cheap. Scripts import `log`, data and small models from it; in a notebook,
`%load_ext course` loads the rest.
"""

from course.core import log

__all__ = ["__version__", "log"]
__version__ = "0.2.0"


def load_ipython_extension(shell: object) -> None:
    """Load the course into a notebook; IPython calls this for `%load_ext course`."""
    from course.notebook import load  # the one import of a higher package: see CONTRIBUTING

    load(shell)
