"""Tell the user's own files from those of libraries and of the course."""

import os
import re
from pathlib import Path

COURSE = str(Path(__file__).resolve().parents[1]) + os.sep
LIBRARY = re.compile(r"/(site|dist)-packages/|/lib/python3\.\d+/")
STDLIB = os.path.dirname(os.__file__)
NOT_THE_USERS = ("<", COURSE, STDLIB + os.sep, os.path.realpath(STDLIB) + os.sep)


def is_users(file: str) -> bool:
    """Whether a file is the user's own, judging by its path."""
    return not (file.startswith(NOT_THE_USERS) or LIBRARY.search(file))
