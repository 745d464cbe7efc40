"""A pytest plugin: with ``--small``, measurements in notebooks are repeated less often.

Their sizes are in ``tests/small_sizes.toml``.

A measurement is repeated until its result can be trusted, and nbval does not compare the result. So
a test of what the cells *do* needs only the same cells with smaller numbers.
"""

import re
import tomllib
from pathlib import Path

import pytest

SIZES = tomllib.loads((Path(__file__).parents[1] / "small_sizes.toml").read_text())


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    about = "measurements in notebooks take a small size, as `make test` has it"
    parser.getgroup("course").addoption("--small", action="store_true", help=about)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Make the numbers of a notebook's cell small."""
    if item.config.option.small and item.path.suffix == ".ipynb":
        item.cell.source = small(item.cell.source, SIZES.get(item.path.stem, {}))


def small(source: str, sizes: dict[str, str]) -> str:
    """The source of a cell with each text of `sizes` replaced by its small one, once."""
    texts = "|".join(map(re.escape, sizes))
    return re.sub(texts, lambda match: sizes[match[0]], source) if sizes else source
