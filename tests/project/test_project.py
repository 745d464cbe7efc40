"""The project as a whole: its floors, its dependencies, that its files agree with one another, and that it opens."""

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from http.client import HTTPResponse
from itertools import chain, pairwise
from pathlib import Path
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import pytest
import yaml
from packaging.requirements import Requirement

from course.commands import lab
from course.lessons.lesson import lessons

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())
MAKEFILE = (ROOT / "Makefile").read_text()
README = (ROOT / "README.md").read_text()

# From the ground up: a module, or all of a package, imports only what stands before it.
FLOORS = [
    "errors wire todo metrics",  # what all others may use
    "palette svg curves intervals lanes traces timeline claims diff",  # pictures and tables
    "online data models",  # what is trained
    "gpus limits hardware vitals diagnosis diagnosis_gpus doctor",  # the box
    "network netns tree fork output rank agent connect supervisor warm run stacks launch live",  # processes
    "slurm explore lesson checks magics going nodes race bench",  # what a notebook shows
    "lesson_rules build serve __main__",  # what makes the notebooks and opens them
]
UNITS = " ".join(FLOORS).split()
PATHS = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "course").rglob("*.py")
}


def imports(module: str) -> Iterator[str]:
    """The modules of the course that a module imports, wherever in its code."""
    for node in ast.walk(ast.parse(PATHS[module].read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in PATHS)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, (
                f"{module} has a relative import, which this test does not follow"
            )
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (
                name if name in PATHS else node.module for name in inner if node.module in PATHS
            )


def unit(module: str) -> str:
    """The module or package, one level below `course`, that a module belongs to."""
    return module.split(".")[1]


def test_every_module_has_its_place_on_a_floor():
    assert sorted(UNITS) == sorted({unit(module) for module in PATHS if module != "course"})


@pytest.mark.parametrize("module", sorted(PATHS.keys() - {"course"}))
def test_a_module_imports_only_from_below(module):
    below = UNITS[: UNITS.index(unit(module)) + 1]
    assert [name for name in imports(module) if name != "course" and unit(name) not in below] == []


def test_no_modules_import_each_other_in_a_circle():
    graph = {module: set(imports(module)) - {module} for module in PATHS}
    graph["course"].discard("course.magics")  # loaded by `%load_ext`, long after the package
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_importing_the_package_imports_no_more_than_the_metrics():
    code = "import sys, course; print(*sorted(name for name in sys.modules if name.startswith(('course.', 'torch'))))"
    assert subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True).split() == [
        "course.metrics"
    ]


def test_scripts_find_data_models_and_metrics_where_jupyter_is_not_installed():
    modules = [
        m for m in PATHS if m == "course.metrics" or unit(f"{m}.") in ("data", "models", "online")
    ]
    code = f"""
import importlib, sys
for name in "IPython ipykernel ipywidgets anywidget jupyterlab jupyter_core nbformat traitlets matplotlib".split():
    sys.modules[name] = None  # an import of it now fails
for module in {modules}:
    importlib.import_module(module)
"""
    assert {"course.data.nli", "course.data.digits", "course.models"} <= set(modules)
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_no_file_of_the_package_is_longer_than_300_lines():
    files = [path for kind in ("py", "js", "css") for path in (ROOT / "course").rglob(f"*.{kind}")]
    assert {
        path.name: lines for path in files if (lines := len(path.read_text().splitlines())) > 300
    } == {}


def test_every_dependency_says_why_it_is_there():
    declared = [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]
    reasons = re.findall(
        r'^    "([^"]+)",\s+# \S', (ROOT / "pyproject.toml").read_text(), re.MULTILINE
    )
    assert [name for name in declared if name not in reasons] == []


def test_conda_make_and_pyproject_agree():
    pin = re.search(r"^TORCH = (\S+)$", MAKEFILE, re.MULTILINE)[1]
    wanted = {Requirement(text).name: Requirement(text) for text in PROJECT["dependencies"]}[
        "torch"
    ]
    packages = ENVIRONMENT["dependencies"]
    python = next(text.split("=")[1] for text in packages if str(text).startswith("python="))
    assert wanted.specifier.contains(pin.removeprefix("torch=="))
    assert packages[-1] == {"pip": [pin, "-e .[dev]"]}
    assert 'pip install "$(TORCH)" -e ".[dev]"' in MAKEFILE
    assert PROJECT["requires-python"] == f">={python}"
    assert f"sys.version_info >= ({python.replace('.', ', ')})" in MAKEFILE
    assert ENVIRONMENT["name"] == PROJECT["name"]
    assert ENVIRONMENT["channels"][0] == "conda-forge"
    assert (
        ENVIRONMENT["variables"]["JUPYTER_CONFIG_PATH"] == "course/jupyter"
    )  # as course.serve sets it


def test_ci_runs_the_readmes_test_command_on_every_python_it_names():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["test"]
    assert {"run": ".ci/run"} in workflow["steps"]
    assert PROJECT["requires-python"] == f">={workflow['strategy']['matrix']['python'][0]}"
    assert "\nmake test " in README
    assert "\nmake test " in (ROOT / ".ci/run").read_text()
    assert (ROOT / ".ci/run").stat().st_mode & 0o111


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", ".ci/run"])
def test_every_make_command_that_is_named_exists(name):
    targets = set(re.findall(r"^(\w+):", MAKEFILE, re.MULTILINE))
    named = set(
        re.findall(r"(?:^|[`\"(]|/cpu )make (\w+)", (ROOT / name).read_text(), re.MULTILINE)
    )
    assert named
    assert named <= targets


def test_every_command_of_the_course_is_in_the_readme():
    from course.__main__ import COMMANDS

    for command in COMMANDS:
        assert f"`{command}`" in README or f"python -m course {command}" in README


def test_the_readmes_map_links_the_labs_that_are_there_and_no_others():
    lessons = {path.stem for path in (ROOT / "course/lessons").glob("[0-9]*.md")}
    linked = set(re.findall(r"^\| \[(\w+)\]\(labs/\1\.ipynb\)", README, re.MULTILINE))
    to_come = set(re.findall(r"^\| (\d\d_\w+) \|.*\| to come \|$", README, re.MULTILINE))
    assert linked == lessons
    assert [int(name[:2]) for name in sorted(linked | to_come)] == list(range(10))


def test_every_lab_ends_with_a_link_to_the_next():
    labs = lessons(ROOT)
    for lab, following in pairwise(labs):
        title = following.cells[0].source.partition("\n")[0].removeprefix("# ")
        assert lab.cells[-1].source.endswith(f"\n\nNext: [{title}]({following.name}.ipynb)")


def test_no_solution_names_a_file_of_the_machine_that_ran_it():
    texts = {path.name: path.read_text() for path in (ROOT / "solutions").glob("*.ipynb")}
    assert texts and not [name for name, text in texts.items() if r"File \"/" in text]


def test_every_file_that_the_readme_links_is_there():
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_the_licence_is_the_one_that_the_package_names():
    text = (ROOT / "LICENSE").read_bytes()
    assert PROJECT["license"] == "Apache-2.0"
    # Of the text at https://www.apache.org/licenses/LICENSE-2.0.txt.
    assert (
        hashlib.sha256(text).hexdigest()
        == "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
    )


def test_without_a_display_no_browser_is_looked_for():
    assert "--no-browser" in lab.options("linux", {})
    assert "--no-browser" not in lab.options("linux", {"DISPLAY": ":0"})
    assert "--no-browser" not in lab.options("darwin", {})


def test_jupyter_gets_the_courses_settings_before_the_users_and_finds_the_courses_programs_first():
    got = lab.environment({"PATH": "/usr/bin", "JUPYTER_CONFIG_PATH": "/mine"})
    assert got["PATH"].split(":") == [str(Path(sys.executable).parent), "/usr/bin"]
    assert got["JUPYTER_CONFIG_PATH"].split(":") == [str(ROOT / "course/jupyter"), "/mine"]
    assert lab.environment({})["JUPYTER_CONFIG_PATH"] == str(ROOT / "course/jupyter")


def test_a_doctor_that_hangs_is_said_and_stops_nothing(monkeypatch, capsys):
    monkeypatch.setattr(lab, "DOCTOR_S", 0.01)
    lab.examine()
    assert "did not end" in capsys.readouterr().out


def test_only_this_machine_can_reach_the_server_unless_an_option_says_otherwise():
    settings = json.loads((ROOT / "course/jupyter/jupyter_server_config.json").read_text())
    assert settings["ServerApp"]["ip"] == "127.0.0.1"


def test_the_lab_opens_at_the_first_notebook_behind_a_token_takes_options_and_asks_for_no_news(
    tmp_path,
):
    server = subprocess.Popen(
        [sys.executable, "-m", "course.serve", "--no-browser", "--ip", "localhost"],
        cwd=ROOT,
        env={
            **os.environ,
            "JUPYTER_CONFIG_DIR": str(tmp_path),
            "JUPYTER_TOKEN": "",
        },  # this user has no password set
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        printed = list(until(r"http://localhost:\d+\S+token=\w+", server.stdout))
        page, token = printed[-1].strip().split("?")
        assert page.endswith("/lab/tree/labs/00_start_here.ipynb")
        assert any(line.startswith("Labs ") for line in printed)  # the doctor's
        assert visit(f"{page}?{token}").status == 200
        assert "/login" in visit(page).url
        settings = page.replace("/lab/tree/labs/00_start_here.ipynb", "/lab/api/settings")
        plugin = json.load(visit(f"{settings}/@jupyterlab/apputils-extension:notification?{token}"))
        defaults = {
            name: plugin["schema"]["properties"][name]["default"]
            for name in ("fetchNews", "checkForUpdates")
        }
        assert defaults == {"fetchNews": "false", "checkForUpdates": False}
    finally:
        server.terminate()
        server.communicate()


def visit(url: str) -> HTTPResponse:
    """The answer of a server that prints its address a moment before it listens."""
    for _ in range(100):
        try:
            return build_opener(ProxyHandler({})).open(url)
        except URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise
            time.sleep(0.1)
    pytest.fail(f"nothing listens at {url}")


def until(pattern: str, lines: Iterable[str]) -> Iterator[str]:
    """The lines up to the first that has the pattern."""
    for line in lines:
        yield line
        if re.search(pattern, line):
            return
    pytest.fail(f"no line has {pattern}")
