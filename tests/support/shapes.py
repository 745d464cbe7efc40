"""The shapes of statements: two that differ only in their names have the same."""

import ast
import re
import textwrap
from collections.abc import Iterator

NAMES = 9  # a statement with this many says something
NAME = re.compile(r"id='(\w+)'")


def shapes(code: str) -> Iterator[str]:
    """The shape of each statement of `code` in which `NAMES` names or more stand."""
    for node in ast.walk(ast.parse(textwrap.dedent(code))):
        if isinstance(node, ast.stmt) and not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            written = ast.dump(node)
            names = NAME.findall(written)
            if len(names) >= NAMES:
                numbers = {name: str(number) for number, name in enumerate(dict.fromkeys(names))}
                yield NAME.sub(lambda match, numbers=numbers: numbers[match[1]], written)
