"""pyproject, conda, make, CI and the licence agree, and scripts run without Jupyter."""

import contextlib
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from support.packages import PATHS, package_of

import course
from course.commands.lab import SETTINGS
from course.commands.web.licenses import COPIED
from course.core.files import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())
MAKEFILE = (ROOT / "Makefile").read_text()
CONSTRAINTS = (ROOT / "constraints.txt").read_text().splitlines()
README = (ROOT / "README.md").read_text()
DOCKERFILE = (ROOT / ".devcontainer/Dockerfile").read_text()
# The packages that scripts import.
PACKAGES = ("course.core", "course.data", "course.given.horovod", "course.models")
JUPYTER = [
    "IPython",
    "anywidget",
    "ipykernel",
    "ipywidgets",
    "jupyter_core",
    "jupyterlab",
    "matplotlib",
    "nbformat",
    "traitlets",
]


def test_every_dependency_says_why_it_is_there():
    declared = [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]
    text = (ROOT / "pyproject.toml").read_text()
    reasons = re.findall(r'^    "([^"]+)",\s+# \S', text, re.MULTILINE)
    assert [name for name in declared if name not in reasons] == []


def test_every_way_to_install_reads_the_versions_from_one_file():
    files = ("Makefile", "environment.yml", ".ci/run", ".binder/requirements.txt")
    paths = [ROOT / name for name in (*files, "course/commands/handouts/files/setup.sh")]
    texts = {path.name: path.read_text() for path in paths}
    assert [name for name, text in texts.items() if "constraints.txt" not in text] == []
    assert [name for name, text in texts.items() if re.search(r"\w==\d", text)] == []
    assert "RUN make base" in DOCKERFILE


def test_a_container_runs_as_an_ordinary_user():
    assert re.findall(r"^(USER .+|CMD)", DOCKERFILE, re.MULTILINE) == ["USER learner", "CMD"]


def test_the_versions_are_those_that_the_project_accepts_and_one_for_each_package():
    declared = [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]
    pins = [Requirement(line) for line in CONSTRAINTS if not line.startswith("#")]
    pinned = {pin.name.lower(): next(iter(pin.specifier)).version for pin in pins}
    assert len(pinned) == len(pins)
    assert all(str(pin.specifier).startswith("==") for pin in pins)
    needed = [Requirement(text) for text in declared]
    assert [need.name for need in needed if pinned[need.name] not in need.specifier] == []


def test_every_version_installs_on_the_oldest_python_that_the_project_names():
    """Even on its first patch release: Debian 12 has 3.11.2."""
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    tried, refusing = 0, []
    for pin in (Requirement(line) for line in CONSTRAINTS if not line.startswith("#")):
        with contextlib.suppress(metadata.PackageNotFoundError):
            installed = metadata.metadata(pin.name)
            if installed["Version"] in pin.specifier:
                tried += 1
                if oldest not in SpecifierSet(installed["Requires-Python"] or ""):
                    refusing.append(str(pin))
    assert refusing == [] and tried > len(CONSTRAINTS) / 2


def test_conda_make_and_pyproject_agree():
    packages = ENVIRONMENT["dependencies"]
    python = next(text.split("=")[1] for text in packages if str(text).startswith("python="))
    assert packages[-1] == {"pip": ["-c constraints.txt", "-e ."]}
    assert PROJECT["requires-python"] == f">={python}"
    assert f"sys.version_info >= ({python.replace('.', ', ')})" in MAKEFILE
    assert ENVIRONMENT["name"] == PROJECT["name"]
    assert ENVIRONMENT["channels"][0] == "conda-forge"
    settings = SETTINGS.relative_to(ROOT).as_posix()
    assert ENVIRONMENT["variables"]["JUPYTER_CONFIG_PATH"] == settings


def test_the_container_is_made_of_what_is_there():
    folder = ROOT / ".devcontainer"
    lines = (folder / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    words = dict(line.split(maxsplit=1) for line in lines if line and line[0] != "#")
    python = re.fullmatch(r"python:(3\.\d+)-slim-bookworm", words["FROM"])[1]
    newest = yaml.safe_load((ROOT / ".github/workflows/newest.yml").read_text())["jobs"]["test"]
    assert python in newest["strategy"]["matrix"]["python"]
    _, target, *arguments = json.loads(words["CMD"])
    settings = json.loads((folder / "devcontainer.json").read_text())
    targets = re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE)
    made = [words["RUN"], settings["postCreateCommand"], f"make {target}"]
    assert {command.removeprefix("make ") for command in made} <= set(targets)
    assert arguments == ["ARGS=--ip 0.0.0.0 --no-browser"]
    assert (folder / settings["build"]["context"]).resolve() == ROOT
    assert settings["build"]["dockerfile"] == "Dockerfile"
    command = re.search(r"`docker build -t (\S+) -f (\S+) \.`", (ROOT / "INSTALL.md").read_text())
    assert command[1] == PROJECT["name"] and (ROOT / command[2]).samefile(folder / "Dockerfile")


def test_ci_runs_the_readmes_test_command_on_every_python_it_names():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["test"]
    assert {"run": ".ci/run"} in workflow["steps"]
    assert PROJECT["requires-python"] == f">={workflow['strategy']['matrix']['python'][0]}"
    assert "\nmake test " in README
    assert "\nmake test " in (ROOT / ".ci/run").read_text()
    assert (ROOT / ".ci/run").stat().st_mode & 0o111


def base_commands(folder: Path) -> str:
    """The commands that `make base` would run in a folder with the course's Makefile."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    (folder / ".venv" / "base").touch()
    command = ["make", "-n", "base"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_an_environment_of_another_system_is_made_again_and_ours_is_kept(tmp_path):
    """A container finds the host's environment in the folder that is mounted into it."""
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_bytes(b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01")  # the first bytes of a macOS program
    python.chmod(0o755)
    assert "venv --clear .venv" in base_commands(tmp_path)
    python.unlink()
    python.symlink_to("/opt/homebrew/bin/python3.12-that-is-not-here")
    assert "venv --clear .venv" in base_commands(tmp_path)
    python.unlink()
    python.symlink_to(sys.executable)
    assert "venv" not in base_commands(tmp_path).replace(str(tmp_path), "")


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", ".ci/README.md", "tests/README.md", ".ci/run"]
)
def test_every_make_command_that_is_named_exists(name):
    targets = set(re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE))
    command = r"(?:^|[`\"(]|/cpu )make ([\w-]+)"
    named = set(re.findall(command, (ROOT / name).read_text(), re.MULTILINE))
    assert named
    assert named <= targets


def test_scripts_find_data_models_and_metrics_where_jupyter_is_not_installed():
    modules = [name for name in PATHS if package_of(name) in PACKAGES]
    code = f"""
import importlib, sys
for name in {JUPYTER}:
    sys.modules[name] = None  # an import of it now fails
for module in {modules}:
    importlib.import_module(module)
"""
    assert {"course.data.nli", "course.data.digits", "course.models"} <= set(modules)
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_licence_is_the_one_that_the_package_names():
    text = (ROOT / "LICENSE").read_bytes()
    assert PROJECT["license"] == "Apache-2.0"
    # Of the text at https://www.apache.org/licenses/LICENSE-2.0.txt.
    digest = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
    assert hashlib.sha256(text).hexdigest() == digest


def test_the_version_is_told_in_one_place_and_the_changes_begin_with_it():
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert pyproject["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "course.__version__"}
    newest = re.search(r"^## (\S+?),? ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    assert course.__version__ == newest


def test_the_notice_names_all_that_the_site_brings():
    notice = (ROOT / "NOTICE").read_text()
    brought = {"Pyodide", "Sphinx", "Furo", "MyST-NB", "Python"}
    assert {name for name in brought if name not in notice} == set()
    extra = {Requirement(text).name for text in PROJECT["optional-dependencies"]["site"]}
    assert extra <= {name.lower() for name in brought}
    assert {name for name in COPIED if name not in notice.lower()} == set()
