"""Everything that `why` can name."""

from course.own.slow.detectors import DETECTORS

ALL = tuple(detector.info for detector in DETECTORS)
