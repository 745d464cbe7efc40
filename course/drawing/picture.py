"""A finished drawing, as a notebook shows it."""

import html
import re

TOUCH = re.compile(r'<rect [^>]*data-set="\w+\+=[^>]*/>| data-(?:set|label|touch)="[^"]*"')


class Picture(str):
    """An SVG document that a notebook shows as a picture, with its alt text."""

    __slots__ = ()

    @property
    def alt(self) -> str:
        """The title and the description of the drawing, as one text."""
        texts = re.findall(r"<(title|desc)>(.*?)</\1>", self)[:2]
        return html.unescape(" ".join(text for _, text in texts if text))

    @property
    def still(self) -> "Picture":
        """The picture without the marks of ``course.drawing.touch``, for pages without a kernel."""
        return Picture(TOUCH.sub("", self))

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"image/svg+xml": str(self.still), "text/plain": self.alt}

    def __repr__(self) -> str:
        return self.alt
