"""What a link to a page shows elsewhere: its first picture and its heading, as a PNG."""

import html
import re
import subprocess
import textwrap
from pathlib import Path

import matplotlib

from course.commands.web import npm
from course.core import CourseError
from course.drawing import Picture, palette, svg

HERE = Path(__file__).parent
# Draws SVG the same on every machine.
RESVG = (
    "@resvg/resvg-wasm@2.6.2",
    "FqALmHI8D4o6lk/LRWDnhw95z5eO+eAa6ORjVg09YRR7BkcM6oPHU9uyC0gtQG5vpFLvgpeU4+zEAz2H8APHNw==",
)
FOLDER = "_static/previews"
WIDE, HIGH = 1200, 630  # what Open Graph and the sites that read it ask for
EDGE, LINE, LETTERS = 60, 54, 44  # pixels beside and between lines of a heading; letters in one
GROUND = "#0b5c99"
HEADING = re.compile(r"<h1>(.*?)(?:<a class=|</h1>)", re.DOTALL)
TAG = re.compile(r"<[^>]+>")
INLINE = re.compile(r'<svg xmlns.*?role="(?:img|group)".*?</svg>', re.DOTALL)
IMAGE = re.compile(r'src="(_images/[^"]+\.svg)"')
# The titles of marks, not of the drawing; and what it says to who cannot see it.
TIP = re.compile(r"(?<=>)<title>[^<]*</title>(?=</)|<desc>[^<]*</desc>")


def write_previews(pages: Path, folder: Path) -> None:
    """Write ``_static/previews/NAME.png`` for every page in `pages`; `folder` is for tools."""
    resvg = npm.unpack(*RESVG, folder)
    out = pages / FOLDER
    drawings = folder / "previews"
    drawings.mkdir()
    default = _first_picture((pages / "index.html").read_text(encoding="utf-8"), pages)
    for page in pages.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        heading = HEADING.search(text)
        title = html.unescape(TAG.sub("", heading[1])) if heading else "Search"
        picture = _first_picture(text, pages) or default
        (drawings / f"{page.stem}.svg").write_text(preview(title, picture), encoding="utf-8")
    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    command = ["node", HERE / "node" / "render.mjs", resvg, fonts, drawings]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CourseError(f"The previews of the pages cannot be drawn: {done.stderr.strip()}")
    out.mkdir(parents=True, exist_ok=True)
    for drawn in drawings.glob("*.png"):
        (out / drawn.name).write_bytes(drawn.read_bytes())


def image(picture: Picture) -> str:
    """The picture as a file for ``<img>``, which answers no pointer and has an alternative text."""
    return TIP.sub("", picture.still)


def _first_picture(page: str, pages: Path) -> str:
    """The first drawing on a page, as SVG; "" without one."""
    body = page[page.find("<article") :]
    inline, image = INLINE.search(body), IMAGE.search(body)
    if inline and (not image or inline.start() < image.start()):
        return inline[0]
    return (pages / image[1]).read_text(encoding="utf-8") if image else ""


def preview(title: str, picture: str) -> str:
    """A `title` above a `picture` (SVG), which is cut at the lower edge if it is high."""
    lines = textwrap.wrap(title, LETTERS)[:2]
    top = EDGE + LINE * len(lines)
    parts = [svg.rect(0, 0, WIDE, HIGH, GROUND)]
    for number, line in enumerate(lines):
        y = EDGE + LINE * number + LINE / 2
        parts.append(svg.text(EDGE, y, line, size=40, bold=True, colour=palette.CARD))
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', picture)
    scale = (WIDE - 2 * EDGE) / float(size[1])
    placed = re.sub(r'width="[\d.]+" height="[\d.]+"', "", picture, count=1)
    parts.append(
        placed.replace(
            "<svg ",
            f'<svg x="{EDGE}" y="{top}" width="{WIDE - 2 * EDGE}" '
            f'height="{svg.number(float(size[2]) * scale)}" ',
            1,
        )
    )
    return svg.element(
        "svg",
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDE} {HIGH}",
        width=WIDE,
        height=HIGH,
        font_family=palette.FONT,
    )
