"""The Hugging Face Hub, when it may be out of reach: its clients retry for half a minute, a learner should not wait."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from course.errors import CourseError

PATIENCE_S = 3.0


@contextmanager
def failing_fast(what: str, instead: str) -> Iterator[None]:
    """Load something from the Hub within this block; if it fails, raise one `CourseError` that names the alternative.

    Where the Hub does not answer within seconds the block runs in the libraries' offline mode, which still finds
    whatever was downloaded earlier and fails at once otherwise.
    """
    offline = not _hub_answers()
    try:
        with _offline_mode() if offline else nullcontext():
            yield
    except (OSError, ValueError) as error:
        reason = "the Hub cannot be reached from here" if offline else str(error).split("\n")[0].rstrip(".")
        raise CourseError(f"Could not load {what} ({reason}): {instead}.") from error
