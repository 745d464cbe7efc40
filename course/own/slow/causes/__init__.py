"""The causes that can be named, a file for each or for a few that share their evidence.

Each registers itself in `Cause.KINDS` when its file is imported, and this imports them all.
"""

from importlib import import_module
from pkgutil import iter_modules

from course.own.slow.cause import Cause

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")

KINDS = Cause.KINDS
ALL = tuple(kind.info for kind in KINDS)
