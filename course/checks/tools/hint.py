"""The hint of a check, and the exceptions that it raises where the hint does not fit."""

from collections.abc import Callable


class Failure(AssertionError):
    """A failure that the hint of its check does not fit; it has its own `hint`, or none ("")."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Undecided(Exception):
    """The check cannot judge this code: another check has to pass first."""


def hint(text: str) -> Callable:
    """Decorate a check with its hint; the report shows it if the check fails."""

    def mark(function: Callable) -> Callable:
        function.hint = text
        return function

    return mark
