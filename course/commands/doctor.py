"""``python -m course doctor``: say whether this machine is ready for the labs.

python -m course doctor            every check, one line each
python -m course doctor --short    the machine at a glance, and only what is not in order
"""

import argparse
import sys
from collections.abc import Sequence

from course.core import words

try:
    from course.hardware import Card
    from course.hardware.doctor import BROKEN, CHECKS, NOTE, OK, examine
except ModuleNotFoundError as error:  # the doctor's own requirements are not installed
    fix = "`python -m pip install -e .`, in the folder of the course"
    sys.exit(f"The package {error.name} is missing: {fix}.")


def main(argv: Sequence[str]) -> int:
    """Print the results of the checks; return 1 if something is broken, else 0."""
    parser = argparse.ArgumentParser(
        prog="python -m course doctor", description="Is this machine ready for the labs?"
    )
    parser.add_argument(
        "--short",
        action="store_true",
        help="the machine at a glance, and only what is not in order",
    )
    short = parser.parse_args(argv).short
    facts = examine()
    results = [result for check in CHECKS if (result := check(facts))]
    if short:
        print(Card(facts.machine))
    for result in results:
        if result.level != OK or not short:
            print(f"{result.level:<8}{result.text}")
    levels = [result.level for result in results]
    if not short:
        print(f"\n{_verdict(levels.count(BROKEN), levels.count(NOTE))}")
    return 1 if BROKEN in levels else 0


def _verdict(broken: int, notes: int) -> str:
    if broken:
        be = "is" if broken == 1 else "are"
        return f"{words.plural(broken, 'thing')} {be} broken: see the lines above for the fix."
    if notes:
        return f"The labs run here. {words.plural(notes, 'note')} above may be worth a look."
    return "The labs run here."
