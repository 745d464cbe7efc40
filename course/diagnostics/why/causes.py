"""List all causes that `why` can name."""

from course.diagnostics.why.detectors import DETECTORS

ALL = tuple(sorted((detector.info for detector in DETECTORS), key=lambda cause: cause.name))
