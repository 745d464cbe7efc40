"""What Sphinx is taught for the site: colours of ranks, words to find a lab by, descriptions."""

import re
import textwrap
from pathlib import Path

from docutils import nodes
from myst_nb.core.lexers import AnsiColorLexer
from sphinx import addnodes
from sphinx.application import Sphinx

from course.commands.web import search_words
from course.commands.web.previews import FOLDER

TRUE_COLOUR = re.compile(r"([34]8);2;(\d+);(\d+);(\d+)m")
CUBE = (0, 95, 135, 175, 215, 255)  # the levels of red, green and blue in a palette of 256
DESCRIPTION_CHARACTERS = 200
ABOUT = "Learn multi-GPU training by doing it: pictures that move, scripts that run, and checks."
NO_NAME = ' aria-label="Toggle hidden content"'  # myst-nb's, which hides "Show the solution"


class RankLexer(AnsiColorLexer):
    """Colours of 24 bits become the nearest of 256, which are all that myst-nb knows."""

    name = "A run's log"
    aliases = ("ranks",)

    def get_tokens_unprocessed(self, text: str, stack: tuple[str, ...] = ("root",)):
        """The tokens of a log."""
        return super().get_tokens_unprocessed(TRUE_COLOUR.sub(_nearest, text), stack)


def _nearest(found: re.Match) -> str:
    """The code of the nearest colour in the palette."""
    levels = [
        min(range(6), key=lambda i: abs(CUBE[i] - int(share))) for share in found.groups()[1:]
    ]
    red, green, blue = levels
    return f"{found[1]};5;{16 + 36 * red + 6 * green + blue}m"


def finish(app: Sphinx, name: str, template: str, context: dict, page: nodes.Node | None) -> None:
    """Give a page what previews of links show, and let a folded solution say its own name."""
    first = next(page.findall(nodes.paragraph), None) if page else None
    words = first.astext() if first else ABOUT
    context["description"] = textwrap.shorten(words, DESCRIPTION_CHARACTERS, placeholder=" …")
    context["site_address"] = app.config.html_baseurl
    context["preview"] = f"{FOLDER}/{name}.png"
    context["body"] = context.get("body", "").replace(NO_NAME, "")


def add_words(app: Sphinx, page: nodes.document) -> None:
    """Put the words of a lab into the index of its page, from which the search takes them."""
    glossary = (Path(app.srcdir) / "glossary.md").read_text(encoding="utf-8")
    words = search_words.of_lab(app.env.docname.partition("_")[0], glossary)
    entries = [("single", word, "", "main", None) for word in words]
    page.append(addnodes.index(entries=entries))


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.add_lexer("ranks", RankLexer)
    app.connect("doctree-read", add_words)
    app.connect("html-page-context", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
