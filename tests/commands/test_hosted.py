"""The labs on notebook hosts: links that are well formed, and a first cell that works."""

import html
import json
import os
import re
import shutil
import subprocess
import sysconfig
import tomllib
import venv
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import nbformat
import pytest
import yaml
from IPython.core.interactiveshell import InteractiveShell
from support.clones import git

from course.commands import site
from course.commands.web import front, hosted, lab_page
from course.commands.web.hosted import Repository
from course.core import ROOT, CourseError
from course.lessons import labs

COMMIT = "0123456789abcdef" * 2 + "01234567"
REPOSITORY = Repository("https://github.com/someone/a-course", COMMIT)
NAME = "03_distributed_data_parallel"
EXECUTE = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=300, startup_timeout=300).execute()
nbformat.write(notebook, sys.argv[1])
"""


@pytest.fixture(scope="module")
def copies(tmp_path_factory) -> dict[str, nbformat.NotebookNode]:
    """The copies of the labs, by name."""
    folder = tmp_path_factory.mktemp("hosted")
    hosted.write_hosted(ROOT, folder, REPOSITORY)
    return {path.stem: nbformat.read(path, 4) for path in folder.iterdir()}


def test_every_lab_has_a_copy_that_is_a_sound_notebook(copies):
    assert sorted(copies) == [lesson.name for lesson in labs(ROOT)]
    for copy in copies.values():
        nbformat.validate(copy)


def test_a_copy_is_the_lab_with_one_more_cell_of_code_and_that_comes_first(copies):
    for name, copy in copies.items():
        lab = nbformat.read(ROOT / "labs" / f"{name}.ipynb", 4)
        code = [cell for cell in copy.cells if cell.cell_type == "code"]
        assert f"git+{REPOSITORY.address}@{COMMIT}" in code[0].source
        assert code[1:] == [cell for cell in lab.cells if cell.cell_type == "code"]


def test_no_link_of_a_copy_needs_the_files_beside_it(copies):
    link = re.compile(r"\]\(((?:\.\./|[\w/-]+\.)[\w./#-]+)\)")  # as in a lab: ../images/x.svg
    before = "".join((ROOT / "labs" / f"{name}.ipynb").read_text() for name in copies)
    assert len(link.findall(before)) > 50
    for copy in copies.values():
        prose = "\n".join(cell.source for cell in copy.cells if cell.cell_type == "markdown")
        assert link.findall(prose) == []


def test_every_link_of_a_copy_into_the_repository_names_what_is_there(copies):
    paths = set()
    place = re.compile(rf"{REPOSITORY.address}/blob/(\w+)/([\w./-]+)")
    raw = re.compile(r"https://raw\.githubusercontent\.com/someone/a-course/(\w+)/([\w./-]+)")
    for copy in copies.values():
        prose = "\n".join(cell.source for cell in copy.cells if cell.cell_type == "markdown")
        paths |= {*place.findall(prose), *raw.findall(prose)}
    kinds = {path.rpartition(".")[2] for _, path in paths}
    assert kinds == {"ipynb", "md", "py", "svg"}
    for at, path in paths:
        if at == hosted.BRANCH:
            assert path.removesuffix(".ipynb") in copies
        else:
            assert at == COMMIT and (ROOT / path).is_file(), path


def test_the_links_open_the_lab_where_each_host_looks_for_it():
    links = {name: urlsplit(link) for name, link in REPOSITORY.links(NAME).items()}
    queries = {name: parse_qs(link.query) for name, link in links.items()}
    copy = f"someone/a-course/blob/hosted/{NAME}.ipynb"
    assert {link.scheme for link in links.values()} == {"https"}
    assert links["colab"].path == f"/github/{copy}"
    assert queries["kaggle"] == {"src": [f"https://github.com/{copy}"]}
    assert links["binder"].path == f"/v2/gh/someone/a-course/{COMMIT}"
    assert queries["binder"] == {"urlpath": [f"lab/tree/labs/{NAME}.ipynb"]}


def test_a_page_shows_the_links_where_the_repository_is_known():
    lesson = next(lesson for lesson in labs(ROOT) if lesson.name == NAME)

    def row(repository: Repository | None) -> str:
        solved = nbformat.read(ROOT / "solutions" / f"{NAME}.ipynb", 4)
        return lab_page.page(lesson, solved, repository).cells[1].source

    assert "on your machine" in row(None) and "http" not in row(None)
    for link in REPOSITORY.links(NAME).values():
        assert f'href="{html.escape(link)}"' in row(REPOSITORY)


def test_the_front_page_and_the_start_page_name_the_repository():
    every = labs(ROOT)
    solved = {lab.number: nbformat.read(ROOT / f"solutions/{lab.name}.ipynb", 4) for lab in every}
    code = f'<a href="{REPOSITORY.address}">'
    assert code in front.front_page(every, solved, REPOSITORY)
    assert code not in front.front_page(every, solved)
    assert f"git clone {REPOSITORY.address} " in front.start_page(every, REPOSITORY)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--repository", REPOSITORY.address], "together, or neither"),
        (["--repository", "someone/a-course", "--commit", COMMIT], "OWNER/NAME, not 'someone"),
        (["--repository", f"{REPOSITORY.address}.git", "--commit", COMMIT], "OWNER/NAME"),
        (["--repository", REPOSITORY.address, "--commit", "main"], "40 hexadecimal digits"),
        (["--repository", REPOSITORY.address, "--commit", COMMIT[:7]], "40 hexadecimal digits"),
    ],
)
def test_what_cannot_be_a_repository_or_a_commit_gets_one_sentence(words, sentence, tmp_path):
    out = tmp_path / "site"
    with pytest.raises(CourseError, match=sentence):
        site.main([*words, "--out", str(out)])
    assert not out.exists()


@pytest.mark.parametrize(
    ("have", "index"),
    [
        ("2.10.0+cu128", "https://download.pytorch.org/whl/cu128"),
        ("2.9.1+cpu", "https://download.pytorch.org/whl/cpu"),
        ("1.13.1", "https://download.pytorch.org/whl/"),
        ("2.11.0+cu128", None),
        ("2.14.1+cu130", None),
        ("3.0.0", None),
    ],
)
def test_the_first_cell_replaces_a_torch_that_is_too_old_and_no_other(have, index, monkeypatch):
    commands = []
    shell = InteractiveShell()
    shell.register_magic_function(commands.append, magic_name="pip")
    monkeypatch.setattr("importlib.metadata.version", {"torch": have}.get)
    shell.run_cell(hosted.install_cell(ROOT, REPOSITORY)).raise_error()
    torch = [f"install -q {hosted.TORCH} --index-url {index}"] if index else []
    needed, course = commands[len(torch) :]
    assert commands[: len(torch)] == torch
    assert course == f"install -q --no-deps --force-reinstall git+{REPOSITORY.address}@{COMMIT}"
    for name in hosted.HOST_PACKAGES:
        assert f'"{name}' not in needed
    assert '"jupytext>=' in needed


def test_the_torch_that_it_brings_is_the_oldest_that_the_course_accepts():
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    oldest = ".".join(map(str, hosted.OLDEST))
    assert any(text.startswith(f"torch>={oldest},") for text in needs)
    assert hosted.TORCH.startswith(f"torch=={oldest}.0 ")


def test_binder_installs_the_torch_of_the_course_for_the_cpu():
    folder = ROOT / ".binder"
    lines = (folder / "requirements.txt").read_text().splitlines()
    versions = "-c ../constraints.txt"  # pip resolves this path from the file that names it
    assert {versions, "-e .", "--extra-index-url https://download.pytorch.org/whl/cpu"} <= set(
        lines
    )


def test_the_workflow_fills_the_branch_that_the_links_name():
    workflow = yaml.safe_load((ROOT / ".github/workflows/site.yml").read_text())
    built = next(
        step["run"]
        for step in workflow["jobs"]["build"]["steps"]
        if "make site" in step.get("run", "")
    )
    assert "--repository $GITHUB_SERVER_URL/$GITHUB_REPOSITORY" in built
    assert "--commit $GITHUB_SHA" in built
    paths = [step.get("with", {}).get("path") for step in workflow["jobs"]["build"]["steps"]]
    assert f"build/site/{hosted.BRANCH}" in paths
    job = workflow["jobs"]["hosted"]
    fetched, pushed = job["steps"]
    assert fetched["with"]["path"] == pushed["working-directory"] == hosted.BRANCH
    assert pushed["run"].rstrip().endswith(f" {hosted.BRANCH}")
    assert job["needs"] == "build" and job["permissions"] == {"contents": "write"}


@pytest.fixture
def published(tmp_path, someone) -> Repository:
    """The repository of the course as it is here, in the folder `origin`."""
    origin = tmp_path / "origin"
    unwanted = shutil.ignore_patterns("__pycache__")
    for name in ("course", "labs"):
        ignore = unwanted if name == "course" else shutil.ignore_patterns("src", "*runs", "traces")
        shutil.copytree(ROOT / name, origin / name, ignore=ignore)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, origin / name)
    git(origin, "init")
    git(origin, "add", ".")
    git(origin, "commit", "--message", "The course")
    return Repository(REPOSITORY.address, git(origin, "rev-parse", "HEAD"))


@pytest.fixture
def host(tmp_path) -> Path:
    """The Python of a host: it has all libraries of this one, but not the course."""
    venv.create(tmp_path / "host", with_pip=False)
    python = tmp_path / "host" / "bin" / "python"
    scheme = {"base": str(tmp_path / "host"), "platbase": str(tmp_path / "host")}
    packages = Path(sysconfig.get_path("purelib", "venv", vars=scheme))
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    return python


def files(folder: Path) -> set[Path]:
    """The files in a folder, by relative path."""
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.rest
def test_the_first_cell_installs_the_course_and_the_next_cells_start_ranks(
    published, host, tmp_path
):
    # A host's pip fetches setuptools to build the course. Here it uses this Python's, which torch
    # 2.11 may keep older than pyproject.toml requires.
    pytest.importorskip("setuptools", minversion="77")
    lab = nbformat.read(ROOT / "labs" / "00_start_here.ipynb", 4)
    copy = hosted.hosted(ROOT, lab, "00_start_here", published)
    first_run = next(at for at, cell in enumerate(copy.cells) if "%torchrun" in cell.source)
    copy.cells = copy.cells[: first_run + 1]
    content = tmp_path / "content"
    content.mkdir()
    nbformat.write(copy, content / "lab.ipynb")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads this as "no build isolation"
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{tmp_path / 'origin'}.insteadOf",
        "GIT_CONFIG_VALUE_0": published.address,
    }
    done = subprocess.run(
        [str(host), "-c", EXECUTE, "lab.ipynb"],
        cwd=content,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    ran = json.dumps(nbformat.read(content / "lab.ipynb", 4).cells[first_run].outputs)
    assert ran.count("the sum") == 2
    assert (content / "src" / "hello.py").is_file()
    where = [str(host), "-c", "import course; print(course.__path__[0])"]
    process = subprocess.run(
        where, cwd=content, env=environment, capture_output=True, text=True, check=True
    )
    installed = Path(process.stdout.strip())
    assert installed.is_relative_to(tmp_path / "host")
    published_files = files(tmp_path / "origin" / "course")
    site_files = {path for path in published_files if path.parts[:2] == ("commands", "web")}
    assert published_files - site_files <= files(installed)  # not its code alone
    assert not site_files & files(installed)
