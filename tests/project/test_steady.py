"""The tool that runs `make test` again and again reads the outcomes correctly."""

import importlib.util

import pytest

from course.core.files import ROOT

SPEC = importlib.util.spec_from_file_location("steady", ROOT / "tests" / "tools" / "steady.py")
steady = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(steady)

GREEN = "...\n=========== 4987 passed, 1 skipped in 543.21s (0:09:03) ============\n"
RED = """
=========================== short test summary info ============================
FAILED tests/a.py::test_b[x - y] - assert 1 == 2
ERROR tests/a.py::test_c
========= 2 failed, 4985 passed in 543.21s (0:09:03) =========
This concerns tests.
"""


@pytest.mark.parametrize(
    ("code", "printed", "passed", "failed", "ok"),
    [
        (0, GREEN, 4987, [], True),
        (0, GREEN.replace("=", ""), 4987, [], True),  # pytest -q
        (2, RED, 4985, ["tests/a.py::test_b[x", "tests/a.py::test_c"], False),
        (2, "make: *** No rule to make target 'install'.", 0, [], False),
        (0, "no tests ran in 0.1s", 0, [], False),
    ],
)
def test_a_run_is_green_only_if_tests_ran_and_all_passed(code, printed, passed, failed, ok):
    outcome = steady.outcome(code, 543.2, printed)
    assert (outcome.passed, outcome.ok) == (passed, ok)
    assert [
        name[: len(start)] for name, start in zip(outcome.failed, failed, strict=True)
    ] == failed


def test_busy_loops_end_with_their_run():
    with steady.busy_loops(2):
        pass
    with pytest.raises(SystemExit, match="2"):
        steady.main(["noisy"])
