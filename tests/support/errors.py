"""Error messages: the one of an attempt, and the form that each has for a learner."""

from collections.abc import Callable

from course.core.errors import CourseError


def one_sentence(error: CourseError) -> bool:
    """Whether the message is one line that ends with a period."""
    return "\n" not in str(error) and str(error).endswith(".")


def error_of(
    attempt: Callable[[], object],
    kind: type[Exception] | tuple[type[Exception], ...] = RuntimeError,
) -> str:
    """The message of the error that an attempt raises, "" if it raises none."""
    try:
        attempt()
    except kind as error:
        return str(error)
    return ""
