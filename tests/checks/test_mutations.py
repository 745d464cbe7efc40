"""Mutations of a solution: each is valid code, stays in the solution and shows its diff."""

import ast
import re
import runpy
import tomllib
from pathlib import Path

import pytest
from support.mutations import KINDS, mutations

from course.exercises import exercises

TOOLS = Path(__file__).parents[1] / "tools"
ROWS = (TOOLS / "equivalent_mutants.toml").read_text()
EQUIVALENT = tomllib.loads(ROWS)
SCRIPT = '''
import torch.distributed as dist


def mean(row, rank: int, limit: int = 1):
    """Nothing is changed outside of the solution: 1 + 1."""
    ### BEGIN SOLUTION hint: Add, then divide.
    print("nobody compares this")
    total, _ = row.clone(), 0
    dist.all_reduce(total, op=dist.ReduceOp.SUM)
    with guard():
        for part in parts[limit:]:
            total[rank] += part if part < rank and not skipped else 0
    return total / dist.get_world_size()
    ### END SOLUTION
'''


def diffs(kind: str) -> list[str]:
    """The lines that replace the changed lines."""
    of_kind = (mutation for mutation in mutations(SCRIPT) if mutation.kind == kind)
    lines = (line for mutation in of_kind for line in mutation.diff.splitlines())
    return [line[1:].strip() for line in lines if line.startswith("+")]


def test_every_kind_changes_something_here():
    assert {mutation.kind for mutation in mutations(SCRIPT)} == {kind.__name__ for kind in KINDS}


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("statement_left_out", "pass"),
        ("statement_twice", "total[rank] += part if part < rank and not skipped else 0; "),
        ("comparison", "total[rank] += part if part <= rank and not skipped else 0"),
        ("part_left_out", "total[rank] += part if part < rank else 0"),
        ("place", "for part in parts[(limit) + 1:]:"),
        ("call", "total, _ = row, 0"),
        ("statements_swapped", "dist.all_reduce(total, op=dist.ReduceOp.SUM)"),
        ("call", "dist.all_reduce(total)"),
        ("argument_ignored", "for part in parts[2:]:"),
        ("other_name", "return total / dist.get_rank()"),
        ("round_left_out", "for part in list(parts[limit:])[1:]:"),
        ("context_left_out", 'with __import__("contextlib").nullcontext():'),
    ],
)
def test_a_mutation(kind, line):
    assert any(new.startswith(line) for new in diffs(kind)), diffs(kind)


def test_all_are_programs_that_differ_within_the_solution():
    solved = SCRIPT.splitlines()
    for mutation in mutations(SCRIPT):
        ast.parse(mutation.script)
        lines = mutation.script.splitlines()
        assert lines[:7] == solved[:7] and lines[-1] == solved[-1]
        assert "Nothing is changed" not in mutation.diff and "print" not in mutation.diff


def test_of_two_statements_that_change_places_both_are_shown():
    (swapped,) = (one for one in mutations(SCRIPT) if one.kind == "statements_swapped")
    one, two = "    total, _ = row.clone(), 0", "    dist.all_reduce(total, op=dist.ReduceOp.SUM)"
    assert swapped.diff.splitlines() == [f"-{one}", f"-{two}", f"+{two}", f"+{one}"]


def test_a_mutation_is_printed_as_the_file_has_it():
    as_row = runpy.run_path(str(TOOLS / "mutate_solutions.py"))["as_row"]
    rows = [as_row("mean", mutation) for mutation in mutations(SCRIPT)]
    read = tomllib.loads("\n".join(rows))["mean"]
    assert [row["diff"] for row in read] == [mutation.diff for mutation in mutations(SCRIPT)]


def test_what_is_known_to_be_no_fault_is_in_alphabetical_order():
    names = re.findall(r"^\[\[(\w+)\]\]$", ROWS, re.MULTILINE)
    assert names == sorted(names)


@pytest.mark.parametrize("name", exercises())
def test_every_solution_has_mutations(name):
    assert len(mutations(exercises()[name].script(solved=True))) > 5


@pytest.mark.parametrize("name", EQUIVALENT)
def test_what_is_known_to_be_no_fault_is_a_mutation_that_is_made(name):
    made = {mutation.diff.strip() for mutation in mutations(exercises()[name].script(solved=True))}
    assert not {known["diff"].strip() for known in EQUIVALENT[name]} - made
    assert all(known["why"] for known in EQUIVALENT[name])
