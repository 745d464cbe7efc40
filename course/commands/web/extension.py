"""A Sphinx extension for the site: the colours of ranks, and descriptions of pages."""

import html
import re
import textwrap

from docutils import nodes
from myst_nb.core.lexers import AnsiColorLexer
from sphinx.application import Sphinx

TRUE_COLOUR = re.compile(r"([34]8);2;(\d+);(\d+);(\d+)m")
CUBE = (0, 95, 135, 175, 215, 255)  # the levels of red, green and blue in a palette of 256
LENGTH = 200  # characters of a description
DEFAULT = "Learn multi-GPU training by doing it: pictures that move, scripts that run, and checks."
WRONG_LABEL = ' aria-label="Toggle hidden content"'  # myst-nb's, for "Show the solution"


class RankLexer(AnsiColorLexer):
    """Replaces each 24-bit colour by the nearest of 256, because myst-nb knows no others."""

    name = "A run's log"
    aliases = ("ranks",)

    def get_tokens_unprocessed(self, text: str, stack: tuple[str, ...] = ("root",)):
        """The tokens of a log."""
        return super().get_tokens_unprocessed(TRUE_COLOUR.sub(_nearest, text), stack)


def _nearest(match: re.Match) -> str:
    """The escape code of the nearest colour in the palette."""
    levels = [
        min(range(6), key=lambda i: abs(CUBE[i] - int(share))) for share in match.groups()[1:]
    ]
    red, green, blue = levels
    return f"{match[1]};5;{16 + 36 * red + 6 * green + blue}m"


def finish(app: Sphinx, name: str, template: str, context: dict, page: nodes.Node | None) -> None:
    """Describe a page by its first paragraph, and let screen readers name a folded solution."""
    first = next(page.findall(nodes.paragraph), None) if page else None
    words = textwrap.shorten(first.astext(), LENGTH, placeholder=" …") if first else DEFAULT
    description = f'<meta name="description" content="{html.escape(words)}">'
    context["metatags"] = context.get("metatags", "") + description
    context["body"] = context.get("body", "").replace(WRONG_LABEL, "")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension; Sphinx calls this."""
    app.add_lexer("ranks", RankLexer)
    app.connect("html-page-context", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
