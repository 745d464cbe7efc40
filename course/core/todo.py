"""Open exercises: a TODO is a ``raise NotImplementedError("TODO 2: ...")``, not yet replaced."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path

OPEN = re.compile(r'^\s*raise NotImplementedError\((?P<todo>"TODO \d+: .*")\)\s*$', re.MULTILINE)
MET = re.compile(
    r'File "(?P<file>[^"]+)", line \d+[^\n]*\n(?:(?!\s*File).*\n)*NotImplementedError: TODO \d+: '
)


def open_todos(script: Path) -> list[str]:
    """The TODOs of a script that are still open, in its order."""
    try:
        source = script.read_text(errors="replace")
    except OSError:
        return []
    return [ast.literal_eval(match["todo"]) for match in OPEN.finditer(source)]


def numbers(source: str) -> list[int]:
    """The numbers of the TODOs that are open in the text of a script, in its order."""
    return [int(re.search(r"\d+", match["todo"])[0]) for match in OPEN.finditer(source)]


def met(traceback: str) -> Path | None:
    """The script whose open TODO raised this traceback, None if something else did."""
    match = MET.search(traceback + "\n")
    return Path(match["file"]) if match else None


def sentence(script: Path) -> str:
    """One calm line about what is still to write."""
    todos = in_sentences(open_todos(script))
    return f"Still to write in {script.name}: {todos} Then run this cell again."


def in_sentences(texts: Iterable[str]) -> str:
    """Texts such as TODOs one after the other, each with its full stop or question mark."""
    return " ".join(text if text.endswith((".", "?", "!")) else f"{text}." for text in texts)
