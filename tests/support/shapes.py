"""The shapes of statements: two that differ only in their names have the same shape."""

import ast
import re
import textwrap
from collections.abc import Iterator

NAMES = 9  # a statement with fewer names may repeat by chance
NAME = re.compile(r"id='(\w+)'")


def shapes(code: str) -> Iterator[str]:
    """Yield the shape of each statement of `code` that has at least `NAMES` names."""
    for node in ast.walk(ast.parse(textwrap.dedent(code))):
        if isinstance(node, ast.stmt) and not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            dump = ast.dump(node)
            names = NAME.findall(dump)
            if len(names) >= NAMES:
                numbers = {name: str(number) for number, name in enumerate(dict.fromkeys(names))}
                yield NAME.sub(lambda match, numbers=numbers: numbers[match[1]], dump)
