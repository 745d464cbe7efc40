"""List all causes that `why` can name."""

from course.diagnostics.why.detectors import DETECTORS

ALL = tuple(detector.info for detector in DETECTORS)
