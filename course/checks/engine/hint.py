"""The hint of a check: what to think about when it fails."""

from collections.abc import Callable


def hint(text: str) -> Callable:
    """Decorate a check with its hint; the report shows it if the check fails."""

    def mark(function: Callable) -> Callable:
        function.hint = text
        return function

    return mark
