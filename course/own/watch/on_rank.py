"""Run a script as a rank would, and watch it: ``on_rank.py FOLDER STEPS SCRIPT ARGUMENTS``.

In place of SCRIPT there may be ``-m MODULE``. What was seen is written to FOLDER, as soon as that
many steps have passed.
"""

import os
import runpy
import sys
from pathlib import Path
from types import TracebackType

from course.launch import forked
from course.own.watch.observer import observe

MODULE = ("-m", "--module")
OURS = str(Path(__file__).resolve().parents[2]) + os.sep


def _without_ours(error: type, value: BaseException, stack: TracebackType | None) -> None:
    """Show an exception as the script alone would, without the frames that lead to it."""
    while stack is not None and stack.tb_frame.f_code.co_filename.startswith(OURS):
        stack = stack.tb_next
    sys.__excepthook__(error, value.with_traceback(stack), stack)


if __name__ == "__main__":
    sys.path.pop(0)  # this folder; the last line puts the script's there
    sys.excepthook = _without_ours
    folder, steps, script, *arguments = sys.argv[1:]
    observe(Path(folder), int(steps), script)
    if script in MODULE:
        sys.argv = arguments
        sys.path.insert(0, os.getcwd())
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        forked.run_as_main([script, *arguments])
