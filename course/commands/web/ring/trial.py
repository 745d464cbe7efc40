"""The page where a visitor writes a ring all-reduce that the browser runs on several ranks."""

import html
from pathlib import Path

from course.commands.web.ring import check, picture, replay

TEXTS = Path(__file__).parent / "page"
PAGE = "try_ring"  # its name
LAB = "02"  # the lab that goes on from there
LINK = (
    '<p class="ways">Its ring you can also write here, with nothing to install: '
    f'<a href="{PAGE}.html">in your browser</a></p>'
)
EDITOR = """<div class="trial">
<link rel="stylesheet" href="_static/try_ring.css">
<div class="trial-editor highlight"><div class="trial-shown" aria-hidden="true"></div>
<textarea aria-label="Your code" aria-describedby="trial-keys" wrap="off" spellcheck="false"
autocapitalize="off" autocomplete="off" autocorrect="off">{source}</textarea></div>
<p class="trial-row"><button type="button" class="trial-run" disabled>Run on 4 ranks</button>
<button type="button" class="trial-again" disabled>Start over</button>
<span role="status" class="trial-status"></span></p>
<p id="trial-keys" class="trial-keys">In the editor: Ctrl + Enter runs, Ctrl + ] and Ctrl + [ move \
lines, Tab goes on to the button.</p>
<noscript><p>This page needs JavaScript, which runs Python here.</p></noscript>
<ul class="trial-verdicts"></ul>
<div class="trial-picture">{picture}</div>
<pre class="trial-printed" hidden></pre>
<script type="module" src="_static/try_ring.js"></script>
</div>"""


def begun() -> str:
    """The code that the editor shows at first."""
    return (TEXTS / "begun.py").read_text(encoding="utf-8")


def solved() -> str:
    """A correct answer."""
    return (TEXTS / "solved.py").read_text(encoding="utf-8")


def trial_page() -> str:
    """The page, as Markdown; the code that the browser runs also draws its first picture."""
    source = html.escape(begun()).replace("\n", "&#10;")  # an empty line would end the HTML
    before = replay.run(compile("def all_reduce(flat): pass", "", "exec"), check.vectors())
    editor = EDITOR.format(source=source, picture=picture.draw(before, 0))
    text = (TEXTS / f"{PAGE}.md").read_text(encoding="utf-8")
    return text.replace("{{editor}}", editor).replace("{{solution}}", solved().rstrip())
