"""The labs on notebook hosts: a copy of each for Colab and Kaggle, and the links that open it.

The copies are in the branch ``hosted`` of the repository, from which Colab and Kaggle open them.
"""

import html
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

import nbformat
from nbformat import NotebookNode

from course.core import CourseError, write_atomically
from course.lessons import Lesson, labs

BRANCH = "hosted"
ADDRESS = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+(?<!\.git)")
COMMIT = re.compile(r"[0-9a-f]{40}")
RELATIVE = re.compile(r"(?P<image>!?)(?P<title>\[[^\]]*\])\((?P<file>[\w./-]+)(?P<rest>#[\w-]*)?\)")
# Not installed on Colab and Kaggle. They have these, except nbval, which no lab needs. We must not
# replace their Jupyter, or a package that the running kernel has imported.
HOST_PACKAGES = ("torch", "jupyterlab", "ipywidgets", "psutil", "nbval")
# The oldest torch that the course accepts, and the packages that must match it: transformers
# imports torchvision if it is installed, and that fails with a torch other than its own.
OLDEST = [2, 11]
TORCH = "torch==2.11.0 torchvision==0.26.0 torchaudio==2.11.0"

NOTE = """> **This copy of the lab is for Colab and Kaggle:** \
[open it in Colab]({colab}), or [open it on Kaggle]({kaggle}).
>
> Kaggle can lend you two GPUs. In the settings beside the notebook, choose *GPU T4 x2* as the \
accelerator and switch *Internet* on; Kaggle may ask for your phone number first. Colab lends one \
GPU or none, so there the ranks compute on the CPU.
>
> The next cell installs the course. That takes a minute, and more if torch is too old. Keep a \
copy of what you write: the machine is yours only for some hours, and its files go with it."""

INSTALL = """# The course as it was at this commit, and what it needs that is not here yet.
from importlib.metadata import version

have, _, build = version("torch").partition("+")
if [int(part) for part in have.split(".")[:2]] < {oldest}:  # too old; the same CUDA, but newer
    %pip install -q {torch} --index-url https://download.pytorch.org/whl/{{build}}
%pip install -q {needs}
%pip install -q --no-deps --force-reinstall git+{address}@{commit}"""

OPEN = """<p class="ways">You read it solved. To do it yourself, open it
<a href="start.html">on your machine</a>
<a href="{kaggle}" title="Two GPUs, if you choose GPU T4 x2 and switch Internet on">on Kaggle</a>
<a href="{colab}" title="One GPU or none, so the ranks compute on the CPU">in Colab</a>
<a href="{binder}" title="No account, no GPU, little memory">on Binder</a></p>"""


@dataclass(frozen=True)
class Repository:
    """Where the course is published: its `address` on GitHub, and a `commit`, as 40 digits."""

    address: str
    commit: str

    def __post_init__(self) -> None:
        if not ADDRESS.fullmatch(self.address):
            raise CourseError(
                f"The repository must be https://github.com/OWNER/NAME, not {self.address!r}."
            )
        if not COMMIT.fullmatch(self.commit):
            raise CourseError(
                f"The commit must be all its 40 hexadecimal digits, not {self.commit!r}."
            )

    @property
    def path(self) -> str:
        """The repository as ``OWNER/NAME``."""
        return self.address.removeprefix("https://github.com/")

    def links(self, name: str) -> dict[str, str]:
        """The links that open the lab `name`, by host."""
        copy = f"{self.path}/blob/{BRANCH}/{name}.ipynb"
        lab = quote(f"lab/tree/labs/{name}.ipynb", safe="")
        return {
            "kaggle": f"https://www.kaggle.com/kernels/welcome?src=https://github.com/{copy}",
            "colab": f"https://colab.research.google.com/github/{copy}",
            "binder": f"https://mybinder.org/v2/gh/{self.path}/{self.commit}?urlpath={lab}",
        }


def ways_to_open(lesson: Lesson, repository: Repository) -> str:
    """The row of links that open a lab, as HTML for its page."""
    links = {place: html.escape(link) for place, link in repository.links(lesson.name).items()}
    return OPEN.format(**links)


def write_hosted(root: Path, out: Path, repository: Repository) -> None:
    """Write a copy of every lab for Colab and Kaggle into the folder `out`."""
    for lesson in labs(root):
        lab = nbformat.read(root / "labs" / f"{lesson.name}.ipynb", 4)
        copy = hosted(root, lab, lesson.name, repository)
        write_atomically(out / f"{lesson.name}.ipynb", nbformat.writes(copy))


def hosted(root: Path, lab: NotebookNode, name: str, repository: Repository) -> NotebookNode:
    """Make a lab install the course before its first code, and make its links work anywhere."""
    for cell in lab.cells:
        if cell.cell_type == "markdown":
            cell.source = RELATIVE.sub(lambda link: _absolute(root, link, repository), cell.source)
    note = nbformat.v4.new_markdown_cell(NOTE.format(**repository.links(name)), id="hosted-note")
    install = nbformat.v4.new_code_cell(install_cell(root, repository), id="hosted-install")
    lab.cells[1:1] = [note, install]
    return lab


def install_cell(root: Path, repository: Repository) -> str:
    """The code that installs the course, at its commit, next to the packages of a host."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {re.match(r"[\w-]+", text)[0]: text for text in project["dependencies"]}
    return INSTALL.format(
        oldest=OLDEST,
        torch=TORCH,
        needs=" ".join(f'"{text}"' for name, text in named.items() if name not in HOST_PACKAGES),
        address=repository.address,
        commit=repository.commit,
    )


def _absolute(root: Path, link: re.Match, repository: Repository) -> str:
    """Turn a link from a lab to a file of the repository into one to the file on GitHub."""
    try:
        file = (root / "labs" / link["file"]).resolve(strict=True).relative_to(root.resolve())
    except (OSError, ValueError):
        return link[0]  # not a link to a file: code in the prose may look like one
    path, rest = PurePosixPath(file), link["rest"] or ""
    url = f"{repository.address}/blob/{repository.commit}/{path}"
    if link["image"]:
        url = f"https://raw.githubusercontent.com/{repository.path}/{repository.commit}/{path}"
    elif path.suffix == ".ipynb":
        url = f"{repository.address}/blob/{BRANCH}/{path.name}"
    return f"{link['image']}{link['title']}({url}{rest})"
