"""Checks of whether this machine is ready for the labs, made on facts that are read once.

A check takes the `Facts` and returns one `CheckResult`, or None if there is nothing to check.
"""

from course.hardware.doctor.check_gpus import GPUS
from course.hardware.doctor.check_machine import MACHINE
from course.hardware.doctor.check_software import SOFTWARE
from course.hardware.doctor.facts import Facts, examine
from course.hardware.doctor.results import BROKEN, NOTE, OK, CheckResult

CHECKS = (*SOFTWARE, *GPUS, *MACHINE)

__all__ = ["BROKEN", "CHECKS", "NOTE", "OK", "CheckResult", "Facts", "examine"]
