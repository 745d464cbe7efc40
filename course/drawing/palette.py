"""The colours of ranks, computing, communication and waiting, and of the paper behind them.

Rank colours are the eight of Okabe & Ito (2008), "Color Universal Design", which readers with any
common colour vision deficiency can tell apart; yellow is darkened a little so that it stands out on
white. Every drawing is made on its own white card, so that it reads the same on JupyterLab's light
and dark themes and on the web.
"""

RANKS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B8860B", "#56B4E9", "#7A5195", "#444444")

INK = "#1f2328"  # text and axes
MUTED = "#656d76"  # secondary text, 4.5:1 on the card
RULE = "#d0d7de"  # hairlines and the card's border
CARD = "#ffffff"  # the background of every drawing
WAIT = "#e6e9ed"  # waiting: pale
ALARM = "#B42318"  # for what is wrong
GOOD = "#1A7F37"  # for what is right
BLACK = "#000000"  # text on a bright colour
TEXT_CONTRAST = 4.8  # minimum for text: WCAG AA requires 4.5 on plain white

FONT = "DejaVu Sans, Verdana, Arial, sans-serif"


def rank_colour(rank: int) -> str:
    """The colour of `rank` in every drawing; the ninth rank has the first colour again."""
    return RANKS[rank % len(RANKS)]


def ansi(rank: int, text: str) -> str:
    """A log line's `text` on the colour of `rank`, in 24-bit ANSI for JupyterLab and terminals.

    No text colour is legible on both light and dark themes, so the background is coloured too.
    """
    ground = rank_colour(rank)
    return f"\x1b[48;2;{_rgb(ground)}m\x1b[38;2;{_rgb(on(ground))}m{text}\x1b[39;49m"


def _rgb(colour: str) -> str:
    """A colour as ANSI writes it: '0;114;178'."""
    return ";".join(map(str, bytes.fromhex(colour[1:])))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG 2 defines it, from 1 to 21; text needs 4.5."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    """The relative luminance of WCAG 2, from 0 to 1."""
    shares = [channel / 255 for channel in bytes.fromhex(colour[1:])]
    linear = [
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    ]
    return sum(
        weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), linear, strict=True)
    )


def on(ground: str) -> str:
    """The text colour for a coloured background: white, or dark where white is hard to read."""
    return next((ink for ink in (CARD, INK) if contrast(ink, ground) >= TEXT_CONTRAST), BLACK)


def as_text(colour: str) -> str:
    """A colour for text on the card; a rank's colour is darkened until it is easy to read."""
    if colour not in RANKS:
        return colour
    steps = (mix(colour, INK, share / 20) for share in range(21))
    return next(shade for shade in steps if contrast(shade, CARD) >= TEXT_CONTRAST)


def mix(colour: str, other: str, share: float) -> str:
    """`colour` with `share` (0 to 1) of `other` mixed in, as ``#rrggbb``."""
    pairs = zip(bytes.fromhex(colour[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def tint(colour: str, share: float) -> str:
    """`colour` made paler: `share` 0 is the colour itself, 1 is the card's white."""
    return mix(colour, CARD, share)


def phase_colour(colour: str, phase: str) -> str:
    """The shade of `colour` for one phase of a step: forward, backward, optimizer or other."""
    shades = {
        "forward": (CARD, 0.45),
        "backward": (CARD, 0.0),
        "optimizer": (INK, 0.55),
        "other": (CARD, 0.72),
    }
    return mix(colour, *shades[phase])
