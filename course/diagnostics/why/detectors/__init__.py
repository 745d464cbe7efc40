"""The detectors of causes: one file for each, or for a few that share their evidence.

A detector registers itself in `Cause.DETECTORS` when its file is imported. This package imports
them all.
"""

from importlib import import_module
from pkgutil import iter_modules

from course.diagnostics.why.cause import Cause

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")

DETECTORS = Cause.DETECTORS
# All causes that `why` can name, in the order of their names.
ALL = tuple(sorted((detector.info for detector in DETECTORS), key=lambda cause: cause.name))
