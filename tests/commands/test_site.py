"""The built site, walked in Chromium as a visitor would: links, explorables, any width."""

import functools
import gzip
import http.server
import re
import shutil
import struct
import subprocess
import tarfile
import threading
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support.chromium import CHROMIUM
from support.launching import PATIENCE_S

from course.commands.web.build import build
from course.core import ROOT

AXE = "axe-core@4.14.1"  # finds what people who see or move otherwise would stumble over
FIRST_VIEW_BYTES = 300_000  # of a page, compressed as every web server sends it
LOOKED_AT = ["index.html", "03_distributed_data_parallel.html", "glossary.html", "search.html"]
ADDRESS = "https://pages.example/course/"  # where the site would be published
OVERFLOW = "() => document.documentElement.scrollWidth - window.innerWidth"
# Pictures on which words cannot be read.
TINY = """() => [...document.querySelectorAll('article img, .explorable-page svg')]
    .filter(picture => picture.getBoundingClientRect().width < 500).length"""
AXE_RUN = """() => axe.run(document, {runOnly: ['wcag2a', 'wcag2aa']}).then(found =>
    found.violations.map(each => each.id + ': ' +
        each.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(' | ')))"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.rest,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.skipif(shutil.which("npm") is None, reason="no npm on this machine"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built."""
    pytest.importorskip("myst_nb")
    pytest.importorskip("furo")
    out = tmp_path_factory.mktemp("site") / "site"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SITE_ADDRESS", ADDRESS)
        build(ROOT, out)
    return out


@pytest.fixture(scope="module")
def address(site):
    """Where it is served, under a sub-path."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            if not self.path.startswith("/sub/"):
                return self.send_error(404)
            self.path = self.path.removeprefix("/sub")
            return super().do_GET()

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=site)
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/sub/"
    server.shutdown()


@pytest.fixture
def visit(browser, address):
    """Open a page; at the end nothing was missing, said on the console, or asked for elsewhere."""
    wrong, opened = [], []

    def asked(request) -> None:
        if not request.url.startswith((address, "data:", "blob:")):
            wrong.append(f"asks for {request.url}")

    def said(message) -> None:
        if message.type in ("error", "warning"):
            wrong.append(f"says {message.text}")

    def visit(name: str, scheme: str = "light", width: int = 1280):
        page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        page.set_default_timeout(PATIENCE_S * 1000)
        page.on("request", asked)
        page.on("console", said)
        page.on("pageerror", lambda error: wrong.append(f"fails: {error}"))
        opened.append(page)
        page.goto(address + name)
        return page

    yield visit
    for page in opened:
        page.close()
    assert wrong == []


class Links(HTMLParser):
    """The links of a page, and what can be linked to on it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links, self.names = [], set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        given = dict(attributes)
        self.links += [given[key] for key in ("href", "src") if given.get(key)]
        self.names |= {given["id"]} if "id" in given else set()


def test_every_picture_is_named_in_words(site):
    for page in site.glob("*.html"):
        names = re.findall(r'<img [^>]*alt="([^"]*)"', page.read_text(encoding="utf-8"))
        assert [name for name in names if not name or name.startswith("_images")] == [], page.name


def test_every_link_holds(site):
    pages = {path.name: Links(path.read_text()) for path in site.glob("*.html")}
    assert len(pages) > 15
    broken = []
    for name, page in pages.items():
        for link in page.links:
            target, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            target = target.partition("?")[0] or name
            if not (site / target).is_file() or (
                anchor and target in pages and anchor not in pages[target].names
            ):
                broken.append(f"{name}: {link}")
    assert broken == []


def test_no_page_asks_another_server(site):
    asks = re.compile(
        r'<(?:script|link(?! rel="canonical")|img|iframe)[^>]+(?:src|href)="(https?:)?//[^"]*"'
    )
    for path in site.glob("*.html"):
        assert not asks.search(path.read_text()), path.name


def test_a_link_to_a_page_has_a_preview(site):
    meta = re.compile(r'<meta (?:property|name)="([^"]+)" content="([^"]*)">')
    given = {path.name: dict(meta.findall(path.read_text())) for path in site.glob("*.html")}
    for name, about in given.items():
        assert about["og:url"] == ADDRESS + name
        assert about["og:title"] and about["twitter:card"] == "summary_large_image"
        picture = site / about["og:image"].removeprefix(ADDRESS)
        assert struct.unpack(">II", picture.read_bytes()[16:24]) == (1200, 630), name  # of a PNG
    labs = {about["og:description"] for name, about in given.items() if name[0].isdigit()}
    assert len(labs) == sum(name[0].isdigit() for name in given)


def pages_of(site: Path) -> list[str]:
    return sorted(path.name for path in site.glob("*.html"))


def test_every_page_is_small_and_fits_a_phone(site, visit, address):
    wrong = {}
    for name in pages_of(site):
        page = visit(name, width=360)
        asked = page.evaluate("() => performance.getEntriesByType('resource').map(e => e.name)")
        files = {url.removeprefix(address).partition("?")[0] for url in [address + name, *asked]}
        assert not any("pyodide" in file for file in files), name
        size = sum(len(gzip.compress((site / file).read_bytes())) for file in files)
        too_wide = page.evaluate(OVERFLOW)
        tiny = page.evaluate(TINY)
        if size > FIRST_VIEW_BYTES or too_wide > 0 or tiny:
            wrong[name] = (size, too_wide, tiny)
        page.close()
    assert wrong == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_can_be_read_by_everybody(visit, axe, scheme):
    """WCAG 2, levels A and AA, as far as axe-core can tell: contrast, names, keyboard."""
    found = {}
    for name in LOOKED_AT:
        page = visit(name, scheme)
        page.evaluate(axe)
        if wrong := page.evaluate(AXE_RUN):
            found[name] = wrong
        page.close()
    assert found == {}


@pytest.fixture(scope="module")
def axe(tmp_path_factory) -> str:
    """The source of axe-core."""
    folder = tmp_path_factory.mktemp("axe")
    subprocess.run(["npm", "pack", AXE, "--silent"], cwd=folder, check=True, capture_output=True)
    with tarfile.open(next(folder.glob("axe-core-*.tgz"))) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


def test_every_explorable_moves_by_keyboard_alone(site, visit):
    """All of them on one page, so that Python starts once."""
    block = re.compile(r'<div class="explorable-page".*?</svg></div>', re.DOTALL)
    found = {}
    for path in sorted(site.glob("*.html")):
        for text in block.findall(path.read_text()):
            found.setdefault(re.search(r'data-name="(\w+)"', text)[1], text)
    assert len(found) > 12
    head = (site / "how_it_works.html").read_text()
    where = head.index("</article>")
    every = site / "every_explorable.html"
    every.write_text(head[:where] + "".join(found.values()) + head[where:])
    page = visit(every.name)
    for number, name in enumerate(found):
        place = page.locator(".explorable-page").nth(number)
        place.locator("button").focus()
        page.keyboard.press("Enter")
        page.wait_for_function(
            "at => document.querySelectorAll('.explorable-page')[at].dataset.alive", arg=number
        )
        assert moves(page, place), name
        assert place.get_attribute("data-name") == name
    every.unlink()


def moves(page, place) -> bool:
    """Whether an arrow key on some control gives another picture."""
    before = place.locator("svg").first.inner_html()
    for control in place.locator("input:not([disabled])").all():
        control.focus()
        page.keyboard.press(
            "Space" if control.get_attribute("type") == "checkbox" else "ArrowRight"
        )
        for _ in range(30):  # a picture takes up to a second on a busy machine
            if place.locator("svg").first.inner_html() != before:
                return True
            page.wait_for_timeout(100)
    return False
