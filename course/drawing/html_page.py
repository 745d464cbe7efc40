"""The frame of an HTML page that is written to a file and needs nothing else."""


def head(title: str, style: str) -> str:
    """The beginning of a page, up to its body; `title` is HTML, `style` is CSS."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{style}</style></head><body>"
    )
