"""Whether this box is ready for the labs: its facts, read once, and what each check finds in them.

A check takes the `Facts` and returns one `Finding`, or None where it has nothing to look at.
"""

from course.hardware.doctor.check_gpus import GPUS
from course.hardware.doctor.check_machine import MACHINE
from course.hardware.doctor.check_software import SOFTWARE
from course.hardware.doctor.facts import Facts, examine
from course.hardware.doctor.findings import BROKEN, NOTE, OK, Finding

CHECKS = (*SOFTWARE, *GPUS, *MACHINE)

__all__ = ["BROKEN", "CHECKS", "NOTE", "OK", "Facts", "Finding", "examine"]
