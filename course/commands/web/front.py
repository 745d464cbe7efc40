"""The pages where a visitor begins: the front page, and the map of the labs."""

import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from nbformat import NotebookNode

from course.commands.web.gallery import exhibits
from course.commands.web.hosted import Repository
from course.commands.web.living import living
from course.drawing import palette
from course.lessons import CORE, Lesson, labs_map

TEXTS = Path(__file__).parent / "texts"
FIGURE = "scaling"
FIGURE_VALUES = {"gpus": 128, "network": "10 Gbit/s"}
FIGURE_AHEAD = "gpus"  # the slider that moves before Python is loaded
HANG_LAB, HANG = "04b", re.compile(r"rank 0 waits in all_reduce")
CHECK_LAB, CHECK = "02", "%check ring"
RANK = re.compile(r"^ *rank (\d)", re.MULTILINE)
NO_ADDRESS = "URL-OF-THIS-REPOSITORY"  # in texts/start.md


def front_page(
    labs: Sequence[Lesson],
    solved: Mapping[str, NotebookNode],
    repository: Repository | None = None,
) -> str:
    """The front page, as Markdown; `solved` are the solved notebooks by the labs' numbers."""
    core = [lab for lab in labs if lab.number in CORE]
    exercises = sum(len(lab.exercises) for lab in labs)
    text = (TEXTS / "index.md").read_text(encoding="utf-8")
    code = repository.address if repository else ""
    values = {
        "labs": str(len(labs)),
        "exercises": str(exercises),
        "hours": _hours(labs),
        "core": str(len(core)),
        "core_hours": _hours(core),
        "figures": str(len(exhibits())),
        "code": f' <a href="{code}">The code</a>' if code else "",
        "figure": living(FIGURE, FIGURE_VALUES, "data-eager", FIGURE_AHEAD),
        "hang": hang_card(solved[HANG_LAB]),
        "check": _check(solved[CHECK_LAB]),
        "table": table(labs),
        "pages": "\n".join(lab.name for lab in labs),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], text)


def _hours(labs: Sequence[Lesson]) -> str:
    return str(round(sum(lab.minutes for lab in labs) / 60))


def table(labs: Sequence[Lesson]) -> str:
    """A Markdown table of the labs, with the question and the minutes of each; ● marks the core."""
    rows = ["| lab | the question | minutes |", "|---|---|---|"]
    for lab in labs:
        mark = " ●" if lab.number in CORE else ""
        rows.append(f"| {lab.number}{mark} | [{lab.title}]({lab.name}.ipynb) | {lab.minutes} |")
    return "\n".join(rows)


def hang_card(solved: NotebookNode) -> str:
    """A notebook's first run that hung in an all-reduce: its command and its output, as HTML."""
    for cell in solved.cells:
        for output in cell.get("outputs", []):
            if HANG.search(text := output.get("text", "")):
                command = cell.source.partition("\n")[0].partition("= ")[2]
                lines = RANK.sub(_in_colour, html.escape(text.strip()))
                return f'<pre class="terminal">{html.escape(command)}\n{lines}</pre>'
    raise LookupError("no run of this notebook hangs in an all-reduce")


def _in_colour(match: re.Match) -> str:
    """The name of a rank, on a background of its colour."""
    ground = palette.rank_colour(int(match[1]))
    style = f"background:{ground};color:{palette.on(ground)}"
    return f'<span style="{style}">{match[0].strip()}</span>'


def _check(solved: NotebookNode) -> str:
    """The verdict on an exercise as its lab shows it, as HTML."""
    [cell] = [cell for cell in solved.cells if cell.source.strip() == CHECK]
    return cell.outputs[-1].data["text/html"]


def start_page(labs: Sequence[Lesson], repository: Repository | None = None) -> str:
    """The page on how to begin, as Markdown: a map with links, and how to open a lab."""
    text = (TEXTS / "start.md").read_text(encoding="utf-8")
    if repository:
        text = text.replace(NO_ADDRESS, repository.address)
    drawing = labs_map.draw(labs, page=lambda lab: f"{lab.name}.html")
    # Screen readers do not offer the links in an image, but they do offer those in a group.
    return text.replace("{{map}}", drawing.replace('role="img"', 'role="group"', 1))
