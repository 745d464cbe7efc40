"""The built site, walked in Chromium as a visitor would: links, explorables, any width."""

import functools
import gzip
import re
from pathlib import Path

import pytest
from support import accessibility
from support.firefox import FIREFOX, firefox
from support.patience import PATIENCE_S
from support.ring_answers import SOLVED
from support.web_pages import WALKED, Links, drag, moves

from course.commands.web.gallery import TRY, exhibits

FIRST_VIEW_BYTES = 80_000  # of a page, compressed as every web server sends it
SEARCH_BYTES = 100_000  # of the page that has the words of all pages
LOOKED_AT = [
    "index.html",
    "start.html",
    "gallery.html",
    "explore_scaling.html",
    "try_ring.html",
    "03_distributed_data_parallel.html",
    "08_scaling.html",
    "10_sharding.html",
    "glossary.html",
    "install.html",
    "search.html",
]
FRAMED = "03_distributed_data_parallel.html"  # all pages have the same frame when wide
LIKE_OTHERS = "explore_sharding.html"
OVERFLOW = "() => document.documentElement.scrollWidth - window.innerWidth"
# The name of the element with the focus, and whether all of it is on the screen.
FOCUS = "() => document.activeElement.ariaLabel ?? document.activeElement.textContent"
SEEN = """() => {
    const { left, right } = document.activeElement.getBoundingClientRect();
    return left >= 0 && right <= window.innerWidth;
}"""
# Pictures that extend beyond the screen, unless their container scrolls sideways.
CUT = """() => [...document.querySelectorAll('article img, .explorable-picture svg')]
    .map(picture => {
        let place = picture;
        while (place && getComputedStyle(place).overflowX !== 'auto') place = place.parentElement;
        return place ?? picture;
    })
    .filter(place => place.getBoundingClientRect().right > window.innerWidth).length"""
# Pictures that are too small to read: their smallest letters have 11 pixels at full size.
SHRUNK = """() => [...document.querySelectorAll('.picture img, .cell_output img')]
    .filter(image => image.width < 0.9 * image.naturalWidth).length
    + [...document.querySelectorAll('.explorable-picture svg')]
    .filter(svg => svg.clientWidth < 0.9 * svg.viewBox.baseVal.width).length"""
PYTHON_CAME = """performance.getEntriesByType('resource')
    .some(file => file.name.endsWith('course.zip'))"""

pytestmark = WALKED


def test_every_picture_is_named_in_words(site):
    for page in site.glob("*.html"):
        names = re.findall(r'<img [^>]*alt="([^"]*)"', page.read_text(encoding="utf-8"))
        assert [name for name in names if not name or name.startswith("_images")] == [], page.name


def test_every_link_holds(site):
    pages = {path.name: Links(path.read_text()) for path in site.glob("*.html")}
    assert len(pages) > 15
    broken = []
    states = {match["state"][1:] for exhibit in exhibits() for match in TRY.finditer(exhibit.tries)}
    for name, page in pages.items():
        for link in page.links:
            target, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            target = target.partition("?")[0] or name
            if not (site / target).is_file() or (
                anchor and target in pages and anchor not in pages[target].names | states
            ):
                broken.append(f"{name}: {link}")
    assert broken == []


def test_no_page_asks_another_server(site):
    asks = re.compile(
        r'<(?:script|link(?! rel="canonical")|img|iframe)[^>]+(?:src|href)="(https?:)?//[^"]*"'
    )
    for path in site.glob("*.html"):
        assert not asks.search(path.read_text()), path.name


def pages_of(site: Path) -> list[str]:
    """Every page, but only one of the explorables' pages, which are alike."""
    names = sorted(path.name for path in site.glob("*.html"))
    return [name for name in names if not name.startswith("explore_") or name == LIKE_OTHERS]


@functools.cache
def compressed(file: Path) -> int:
    """The size of a file as it is sent, in bytes."""
    return len(gzip.compress(file.read_bytes()))


def test_every_page_is_small_and_fits_a_phone(site, visit, address):
    wrong, page = {}, visit("index.html")
    for width, name in [(1280, "gallery.html"), *((360, name) for name in pages_of(site))]:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(address + name)
        urls = page.evaluate("() => performance.getEntriesByType('resource').map(e => e.name)")
        files = {url.removeprefix(address).partition("?")[0] for url in [address + name, *urls]}
        python = {file for file in files if "pyodide" in file or file.endswith(".zip")}
        # Only the front page, the pages of figures and the editor's page fetch it when idle.
        assert not python or name.startswith(("index", "explore_", "try_")), name
        size = sum(compressed(site / file) for file in files - python)
        too_wide, cut, shrunk = map(page.evaluate, (OVERFLOW, CUT, SHRUNK))
        most = SEARCH_BYTES if name == "search.html" else FIRST_VIEW_BYTES
        if size > most or too_wide > 0 or cut or shrunk:
            wrong[name] = (size, too_wide, cut, shrunk)
    assert wrong == {}


@pytest.mark.parametrize(
    ("scheme", "width", "names"),
    [("light", 1280, LOOKED_AT), ("dark", 390, LOOKED_AT), ("dark", 1280, [FRAMED])],
)
def test_pages_can_be_read_by_everybody(visit, address, axe, scheme, width, names):
    """WCAG 2, levels A and AA, as far as axe-core can tell: contrast, names, keyboard."""
    violations, page = {}, visit(names[0], scheme, width)
    for name in names:
        page.goto(address + name)
        page.evaluate(axe)
        if wrong := page.evaluate(accessibility.RUN):
            violations[name] = wrong
    assert violations == {}


@pytest.mark.parametrize("width", [390, 1280])
def test_the_menu_is_walked_and_unfolded_by_keyboard(visit, width):
    page = visit("glossary.html", width=width)
    figure = page.locator(".sidebar-tree a", has_text="What does each rank hold afterwards?")
    assert not figure.is_visible()
    for _ in range(20):
        page.keyboard.press("Tab")
        page.wait_for_function(SEEN)  # the menu glides in
        if page.evaluate(FOCUS).startswith("Toggle navigation of"):
            break
    page.keyboard.press("Space")
    assert figure.is_visible()


@pytest.fixture(scope="module")
def axe(tmp_path_factory) -> str:
    """The source of axe-core."""
    return accessibility.source(tmp_path_factory.mktemp("axe"))


def test_every_explorable_moves_by_keyboard_alone(site, visit):
    """All of them on one page, so that Python starts once."""
    block = re.compile(r'<div class="explorable-page".*?</svg></div>', re.DOTALL)
    pages = sorted(site.glob("explore_*.html"))
    assert len(pages) > 12
    blocks = [block.search(page.read_text())[0].replace("data-address", "") for page in pages]
    head = (site / "how_it_works.html").read_text()
    where = head.index("</article>")
    every = site / "every_explorable.html"
    every.write_text(head[:where] + "".join(blocks) + head[where:])
    page = visit(every.name)
    for number, path in enumerate(pages):
        place = page.locator(".explorable-page").nth(number)
        assert place.get_attribute("data-name") == path.stem.removeprefix("explore_")
        assert moves(page, place), path.stem
    every.unlink()


def test_the_address_of_a_figure_is_its_state(visit):
    page = visit("explore_scaling.html#gpus=512&network=1+Gbit%2Fs")
    title = page.locator(".explorable-spoken b")
    page.wait_for_function("() => document.querySelector('[data-alive]')")
    assert title.inner_text().startswith("512 GPUs train")
    page.get_by_role("slider", name="GPUs", exact=True).press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('gpus=1024')")
    assert "network=1+Gbit%2Fs" in page.url
    page.get_by_role("link", name="The batch is shared").click()
    page.wait_for_function("() => document.querySelector('[role=switch]').checked")
    assert "strong=true" in page.url and title.inner_text().startswith("128 GPUs train")


@pytest.mark.parametrize("by", ["mouse", "finger"])
def test_a_picture_can_be_touched(site, browser, address, by):
    """A bit is flipped; the limit of memory and the end of a late pass are dragged."""
    phone = {"has_touch": True, "is_mobile": True, "viewport": {"width": 390, "height": 844}}
    visitor = browser.new_context(**(phone if by == "finger" else {}))
    page = visitor.new_page()
    page.set_default_timeout(PATIENCE_S * 1000)
    page.goto(f"{address}explore_number_formats.html")
    bit = page.get_by_role("button", name="Flip bit 4 of 16: w = 0.0625")
    bit.tap() if by == "finger" else bit.click()
    page.wait_for_function("() => location.hash.includes('weight=0.0625')")
    page.get_by_role("button", name="Flip bit 4 of 16: w = 1", exact=True).wait_for()
    for name, control, ahead in (("sharding", "memory", -1), ("stragglers", "slower", 1)):
        page.goto(f"{address}explore_{name}.html")
        handle = page.locator(".explorable-picture [role=slider]")
        handle.scroll_into_view_if_needed()
        box = handle.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        drag(page, by, [(x + ahead * 8 * step, y) for step in range(9)])
        page.wait_for_function(f"() => location.hash.includes('{control}=')")
    visitor.close()


def test_a_still_image_has_nothing_to_touch(site):
    images = [path.read_text() for path in site.rglob("*.svg")]
    assert images
    assert not [text for text in images if "data-set" in text]


def test_an_address_with_a_state_that_is_none_says_so(visit):
    page = visit("explore_scaling.html#gpus=5000")
    status = page.locator(".explorable-status", has_text="GPUs takes a number from 1 to 1024")
    status.wait_for()


def test_the_front_page_moves_before_python_has_come_and_can_try_again(browser, address):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE_S * 1000)
    page.route("**/pyodide/*", lambda route: route.abort())
    page.goto(f"{address}index.html")
    title = page.locator(".explorable-spoken b")
    page.get_by_role("slider", name="GPUs", exact=True).press("ArrowRight")
    page.wait_for_function("() => document.querySelector('.explorable-spoken').innerText[0] == '2'")
    assert title.inner_text().startswith("256 GPUs train")
    page.get_by_role("slider", name="Batch", exact=True).press("ArrowRight")
    again = page.get_by_role("button", name="Try again")
    again.wait_for()
    assert "did not start" in page.locator(".explorable-status").inner_text()
    page.unroute("**/pyodide/*")
    again.click()
    page.wait_for_function("() => document.querySelector('[data-alive]')")
    assert page.locator(".explorable-status").inner_text() == ""
    page.close()


@pytest.mark.skipif(FIREFOX is None, reason="no Firefox on this machine")
def test_the_same_in_firefox(address, tmp_path):
    """A page of each kind is opened, a figure is moved by key, `try_ring`'s ring is checked."""
    with firefox(tmp_path) as browser:
        for name in set(LOOKED_AT) - {"try_ring.html"}:
            browser.visit(address + name)
            assert browser.run("document.querySelector('h1') !== null"), name
            if browser.run("document.querySelector('[data-eager], [data-address]') !== null"):
                browser.until(PYTHON_CAME)  # leaving earlier would cancel requests
        browser.visit(f"{address}explore_scaling.html#gpus=512")
        browser.until("document.querySelector('[data-alive]')")
        browser.run("document.querySelector('.explorable input[type=range]').focus()")
        browser.press("ArrowRight")
        browser.until("location.hash.includes('gpus=1024')")
        browser.visit(f"{address}try_ring.html")
        browser.run(f"document.querySelector('.trial-editor textarea').value = {SOLVED!r}")
        browser.run("document.querySelector('.trial-editor textarea').focus()")
        browser.press("Control", "Enter")
        browser.until("document.querySelector('.trial-status').textContent.startsWith('All of it')")
        assert browser.complaints == []
        assert [url for url in browser.requests if not url.startswith((address, "data:"))] == []
