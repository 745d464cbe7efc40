"""What CI does: its workflows, the commands they call, and the two plugins that its lanes use."""

import importlib.util
import re
import subprocess
import sys
from datetime import date, timedelta
from itertools import chain

import pytest
import yaml
from support.launching import clean_environment
from support.pytest_runs import run_pytest
from support.workers import GROUPED_FOLDERS, group_of

from course.core.files import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE))
A_TEST = """
import pytest

@pytest.mark.parametrize("reason", ["no Slurm here", "this machine has a GPU"])
def test_that_wants_something(reason):
    pytest.skip(reason)

@pytest.mark.xfail(reason="known")
def test_that_is_known_to_fail():
    assert False
"""
XDIST = ["-p", "xdist.plugin", "-p", "support.workers"]
# As if the extra `dev` were not installed.
WITHOUT_DEV = """
import sys
sys.modules |= dict.fromkeys(["hypothesis", "pytest_timeout", "xdist"])
import pytest
sys.exit(pytest.main(["-q", "-p", "nbval.plugin", "--nbval", *sys.argv[1:]]))
"""

SPEC = importlib.util.spec_from_file_location("conftest_of_all", ROOT / "conftest.py")
conftest = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(conftest)


def jobs() -> dict[str, dict]:
    """Every job, as ``ci.yml test``."""
    return {
        f"{path.name} {name}": job
        for path in WORKFLOWS
        for name, job in yaml.safe_load(path.read_text())["jobs"].items()
    }


def steps() -> list[dict]:
    """Every step of every job."""
    return [step for job in jobs().values() for step in job["steps"]]


def test_every_action_is_pinned_by_digest_and_says_its_version():
    uses = [line for path in WORKFLOWS for line in path.read_text().splitlines() if "uses:" in line]
    assert uses
    pinned = re.compile(r"\s+- (?:id: \w+\n\s+)?uses: actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [line for line in uses if not pinned.fullmatch(line.replace("  uses", "- uses"))] == []


def test_an_action_has_one_digest_in_all_workflows():
    text = "".join(path.read_text() for path in WORKFLOWS)
    named = set(re.findall(r"uses: (actions/[\w-]+)@(\S+ # \S+)", text))
    assert len(named) == len({action for action, _ in named})


def test_every_command_of_ours_that_a_workflow_runs_exists():
    lines = [line for step in steps() for line in step.get("run", "").splitlines()]
    made = {line.split()[1] for line in lines if line.startswith("make ")}
    assert {"prose", "site"} <= made <= TARGETS
    assert ".ci/run" in lines


def test_what_may_write_runs_no_packages_of_others():
    for name, job in jobs().items():
        path = ROOT / ".github" / "workflows" / name.split()[0]
        rights = job.get("permissions", yaml.safe_load(path.read_text())["permissions"])
        if "write" in rights.values():
            commands = "".join(step.get("run", "") for step in job["steps"])
            assert not re.search(r"\b(make|pip|npm)\b|\.ci/run", commands), name


def test_no_checkout_leaves_its_token():
    checkouts = [step for step in steps() if "actions/checkout@" in step.get("uses", "")]
    assert checkouts
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_every_make_target_of_the_script_exists():
    text = (ROOT / ".ci" / "run").read_text()
    assert set(re.findall(r"^ *make ([\w-]+)", text, re.MULTILINE)) <= TARGETS
    subprocess.run(["bash", "-n", ".ci/run"], cwd=ROOT, check=True)


def test_the_newest_lane_lifts_every_bound_of_the_project():
    pattern = re.search(r"sed -n '([^']+)' pyproject.toml", (ROOT / ".ci" / "run").read_text())[1]
    done = subprocess.run(
        ["sed", "-n", pattern, "pyproject.toml"], cwd=ROOT, capture_output=True, text=True
    )
    needs = re.findall(r'^    "([\w-]+)[^"]*<', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert done.stdout.split() == needs
    assert "torch" in needs


@pytest.mark.parametrize(("no_skips", "failed"), [("", 0), ("1", 1)])
def test_a_lane_that_may_skip_nothing_fails_where_something_is_skipped(tmp_path, no_skips, failed):
    (tmp_path / "test_it.py").write_text(A_TEST)
    done = run_pytest(tmp_path, "-p", "support.no_skips", ".", COURSE_NO_SKIPS=no_skips)
    assert done.returncode == failed, done.stdout
    assert ("no Slurm here; COURSE_NO_SKIPS is set" in done.stdout) == bool(failed)
    assert f"{2 - failed} skipped" in done.stdout and "1 xfailed" in done.stdout


def test_the_shards_are_all_of_the_tests_and_each_only_once(tmp_path):
    for number in range(9):
        (tmp_path / f"test_{number}.py").write_text("def test_a(): pass\ndef test_b(): pass\n")
    listed = [
        run_pytest(tmp_path, "-n0", *XDIST, "--collect-only", COURSE_SHARD=f"{number}/3")
        for number in (1, 2, 3)
    ]
    names = [re.findall(r"^test_\d\.py::test_\w", done.stdout, re.MULTILINE) for done in listed]
    assert sorted(chain(*names)) == [f"test_{n}.py::test_{x}" for n in range(9) for x in "ab"]
    assert all(len(part) < 18 for part in names)


def test_a_file_stays_on_one_worker_but_of_answers_only_what_is_to_one_exercise():
    assert group_of("tests/a.py::test_x[1]") == "tests/a.py"
    assert group_of("tests/a.py::ring: no average") == "tests/a.py::ring"
    assert group_of("tests/launch/faults/test_deaths.py::test_x") == "tests/launch/faults"
    assert all((ROOT / folder).is_dir() for folder in GROUPED_FOLDERS)


def test_a_run_ends_whose_worker_dies(tmp_path):
    (tmp_path / "test_1.py").write_text("def test_a(): pass\ndef test_b(): pass\n")
    (tmp_path / "test_2.py").write_text(
        "import os\ndef test_c(): os._exit(3)\ndef test_d(): pass\n"
    )
    done = run_pytest(tmp_path, "-n1", *XDIST, ".")
    assert "crashed while running 'test_2.py::test_c'" in done.stdout
    assert "1 failed, 2 passed" in done.stdout and done.returncode == 1


@pytest.mark.slow
@pytest.mark.rest
def test_the_notebooks_are_found_without_the_extra_dev():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DEV, "--collect-only"],
        cwd=ROOT,
        env=clean_environment() | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    files = re.findall(r"^(\S+?)::", done.stdout, re.MULTILINE)
    assert {name.partition("/")[0] for name in files} == {"labs", "solutions"}


def test_every_sampled_test_has_its_day():
    days = [date(2026, 11, 28) + timedelta(days=number) for number in range(conftest.DAYS)]
    for place in (0, 1, 3_735_928_559):
        assert sum(conftest.has_its_turn(place, day) for day in days) == 1


def test_quick_runs_a_part_of_what_make_test_runs():
    quick = re.search(r'pytest tests -m "(.+)"', MAKEFILE)[1].split(" and ")
    lane = re.search(r'^LANE = -m "(.+)"$', MAKEFILE, re.MULTILINE)[1].split(" and ")
    assert set(quick) == {"not slow", *lane}


def test_prose_commits_all_that_it_has_built():
    built, committed = (jobs()[f"prose.yml {name}"]["steps"][-1] for name in ("build", "commit"))
    added = re.search(r"^git add (.+)$", committed["run"], re.MULTILINE)[1].split()
    assert {path.removesuffix("/*.ipynb") for path in built["with"]["path"].split()} == set(added)
    assert "images/labs_map.svg" in added
