"""The number of letters in a line of prose on a page in Chromium."""

SCREEN = 1440  # pixels wide, of a laptop
SHORTEST, LONGEST = 70, 90  # letters, of a full line that an eye can follow
# How many fit in a line of each long paragraph.
LETTERS = """paragraphs => [...document.querySelectorAll(paragraphs)]
    .filter(text => text.textContent.length > 200 && text.checkVisibility())
    .map(text => {
        const line = text.cloneNode(true);
        line.style = 'position: absolute; width: max-content; max-width: none';
        text.after(line);
        const letters = text.textContent.length * text.clientWidth / line.offsetWidth;
        line.remove();
        return letters;
    })"""


def assert_readable(page, paragraphs: str) -> None:
    """Assert that long paragraphs, found by a CSS selector, have lines of a readable length."""
    letters = page.evaluate(LETTERS, paragraphs)
    assert letters
    assert min(letters) > SHORTEST and max(letters) < LONGEST
