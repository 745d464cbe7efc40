"""The colours: of a rank, of computing, communication and waiting, and of the paper they stand on.

Rank colours are the eight of Okabe & Ito (2008), "Color Universal Design", which readers with any
common colour vision deficiency can tell apart; yellow is darkened a little so that it stands out on
white. Every drawing is made on its own white card, so that it reads the same on JupyterLab's light
and dark themes and on the web.
"""

RANKS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B8860B", "#56B4E9", "#7A5195", "#444444")

INK = "#1f2328"  # text and axes
MUTED = "#656d76"  # secondary text, 4.5:1 on the card
RULE = "#d0d7de"  # hairlines and the card's border
CARD = "#ffffff"  # what every drawing stands on
WAIT = "#e6e9ed"  # waiting: pale
ALARM = "#B42318"  # the thing that is wrong
GOOD = "#1A7F37"  # what holds

FONT = "DejaVu Sans, Verdana, Arial, sans-serif"


def rank_colour(rank: int) -> str:
    """The colour of `rank`, the same everywhere; ranks past the eighth start over."""
    return RANKS[rank % len(RANKS)]


def ansi(rank: int, text: str) -> str:
    """`text` in the colour of `rank`, for log lines: 24-bit ANSI, for JupyterLab and terminals."""
    red, green, blue = (int(rank_colour(rank)[i : i + 2], 16) for i in (1, 3, 5))
    return f"\x1b[38;2;{red};{green};{blue}m{text}\x1b[39m"


def mix(colour: str, other: str, share: float) -> str:
    """`colour` with `share` (0 to 1) of `other` mixed in, as ``#rrggbb``."""
    pairs = [(int(colour[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5)]
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
