"""Is this box ready for the labs?

python -m course doctor            every check, one line each
python -m course doctor --short    the box at a glance, and only what is not in order
"""

import argparse
import sys

try:
    from course import hardware
    from course.hardware.doctor.facts import examine
    from course.hardware.doctor.gpus import GPUS
    from course.hardware.doctor.machine import BROKEN, COURSE, MACHINE, NOTE, OK, PACKAGES, SOFTWARE
except ModuleNotFoundError as error:  # not even what the doctor itself needs is installed
    sys.exit(
        f"The package {error.name} is missing: `python -m pip install -e .`, in the folder of the course."
    )

CHECKS = (*SOFTWARE, *GPUS, *MACHINE)


def main(argv: list[str]) -> int:
    """Print what every check found; 1 if something is broken, else 0."""
    parser = argparse.ArgumentParser(
        prog="python -m course doctor", description="Is this box ready for the labs?"
    )
    parser.add_argument(
        "--short", action="store_true", help="the box at a glance, and only what is not in order"
    )
    short = parser.parse_args(argv).short
    vitals = examine([*PACKAGES, COURSE])
    findings = [finding for check in CHECKS if (finding := check(vitals))]
    if short:
        print(hardware.Card(vitals.box))
    for finding in findings:
        if finding.level != OK or not short:
            print(f"{finding.level:<8}{finding.text}")
    broken = sum(finding.level == BROKEN for finding in findings)
    if not short:
        print(f"\n{_verdict(broken, sum(finding.level == NOTE for finding in findings))}")
    return 1 if broken else 0


def _verdict(broken: int, notes: int) -> str:
    if broken:
        return f"{broken} thing{'s are' if broken > 1 else ' is'} broken: see the lines above for the fix."
    return "The labs run here." + (
        f" {notes} note{'s' * (notes > 1)} above may be worth a look." if notes else ""
    )
