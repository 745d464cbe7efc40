"""The measures that make forks of the warm server cheap are invisible to a script."""

import sys
from pathlib import Path

import pytest
from support.python import run_python

from course.checks.runner import on_ranks
from course.launch import connect, launch

pytestmark = pytest.mark.slow

COLLAPSED = """
from course.launch import huge_pages

held = [bytes([number]) * 3_000_000 for number in range(30)]
huge_pages.collapse()
assert [part[0] for part in held] == list(range(30)) and all(len(set(p)) == 1 for p in held)
print("the same")
"""
FINALIZERS = """
import weakref


class Thing:
    pass


thing = Thing()
weakref.finalize(thing, print, "the script's own finalizer ran")
inherited = [f for f in weakref.finalize._registry if f.alive and f is not None]
print(sum(f.atexit for f in inherited), "to run at the end")
"""


TABLE = """
import sys

from course.data import nli
from torch._dynamo import utils

print(nli.pairs.cache_info().currsize)
utils.compile_times = lambda **options: print("a table")
utils.log.setLevel(sys.argv[1])
"""


def test_memory_in_huge_pages_holds_what_it_held():
    assert run_python(COLLAPSED).stdout == "the same\n"


@pytest.mark.skipif(sys.platform != "linux", reason="ranks are forked on Linux")
def test_a_scripts_own_finalizers_run_at_its_end_and_no_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ends.py").write_text(FINALIZERS)
    connect.warm_up()
    run = launch(["python", "ends.py"])
    assert run.ok
    assert run.text(0) == "1 to run at the end\nthe script's own finalizer ran"


@pytest.mark.skipif(sys.platform != "linux", reason="ranks are forked on Linux")
@pytest.mark.parametrize(("level", "made"), [("WARNING", "1"), ("INFO", "1\na table")])
def test_a_rank_has_the_sentences_and_no_table_that_nobody_reads(
    tmp_path, monkeypatch, level, made
):
    monkeypatch.chdir(tmp_path)
    Path("ends.py").write_text(TABLE)
    connect.warm_up()
    on_ranks.await_warm_ranks()
    assert launch(["python", "ends.py", level]).text(0, "stdout") == made
