"""Load models and data from the Hub or from a folder.

If the Hub does not answer, this avoids the half minute for which its clients would retry.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

from course.core import CourseError

PATIENCE_S = 3.0


@contextmanager
def source(name: str, what: str, advice: str) -> Iterator[Path | str]:
    """Yield the source from which to load `what`: the folder `name`, or else that name on the Hub.

    If the Hub does not answer within seconds, the block runs in the libraries' offline mode:
    they find what was downloaded earlier, and fail at once otherwise. Raises `CourseError` if the
    block fails: one sentence that ends with `advice`.
    """
    folder = _local_folder(name)
    is_offline = folder is None and not _hub_answers()
    try:
        with ExitStack() as stack:
            if is_offline:
                _go_offline(stack)
            yield folder or name
    except (OSError, ValueError) as error:
        reason = "the Hub cannot be reached from here" if is_offline else _first_line(error)
        raise CourseError(f"Cannot load {what} {name!r} ({reason}): {advice}.") from error


def _local_folder(name: str) -> Path | None:
    """The folder called `name`, or None if it can only be a name on the Hub.

    Raises `CourseError` for the path of a folder that does not exist.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if name.startswith(("/", ".", "~")) or name.count("/") > 1:
        raise CourseError(
            f"There is no folder {name}: "
            "correct the path, or give a name on the Hub such as 'owner/name'."
        )
    return None


def _first_line(error: Exception) -> str:
    """The message of an error, short enough to fit inside a sentence."""
    return (str(error).strip() or type(error).__name__).split("\n")[0].rstrip(".:")


def _hub_answers() -> bool:
    """Whether the Hub, or the mirror named by HF_ENDPOINT, answers at all."""
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return False
    try:
        get_session().head(constants.ENDPOINT, timeout=PATIENCE_S)
    except Exception:  # the HTTP client differs between releases, and so do its errors
        return False
    return True


def _go_offline(stack: ExitStack) -> None:
    """Set what HF_HUB_OFFLINE=1 sets, until `stack` ends.

    The variable itself would not help: the libraries read it only when they are imported.
    """
    for name in ("huggingface_hub.constants", "datasets.config"):
        if name in sys.modules:
            stack.enter_context(mock.patch.object(sys.modules[name], "HF_HUB_OFFLINE", True))
