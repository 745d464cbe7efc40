"""Record the answer of `why` to the script in lab 08b whose rank 1 has the long texts.

    PYTHONPATH=tests python tests/tools/record_why.py

writes course/explore/stills/why.json, from which the build draws images/why.svg.
"""

import json
import os
import tempfile
from pathlib import Path

from support import solutions
from support.watching import watch_ranks

from course.checks.runner.on_ranks import await_warm_ranks
from course.core import write_atomically
from course.diagnostics import WhyAnswer
from course.explore.stills.why import FILE
from course.launch import warm_up


def main() -> None:
    """Run the script as the lab writes it, and keep the answer."""
    with tempfile.TemporaryDirectory() as name:
        solutions.write("08b_why", Path(name))
        os.chdir(name)
        warm_up()
        await_warm_ranks()
        words = ["torchrun", "--standalone", "--nproc-per-node", "2", "slow.py", "lengths"]
        _, reports = watch_ranks(words)
    answer = WhyAnswer(reports)
    write_atomically(FILE, json.dumps(answer.plain(), indent=1) + "\n")
    print(answer)


if __name__ == "__main__":
    main()
