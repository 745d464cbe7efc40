"""A library that can do without a module is imported without it, and that changes nothing."""

import importlib.util
import subprocess
import sys

import pytest

from course.core import imports


def test_a_module_is_missing_only_meanwhile():
    with imports.without("this"), pytest.raises(ImportError):
        importlib.import_module("this")
    assert "this" not in sys.modules and importlib.util.find_spec("this")


def test_what_is_imported_already_stays():
    with imports.without("json"):
        assert importlib.import_module("json").loads("[1]") == [1]


def test_lessons_are_read_without_a_grammar_of_addresses():
    """It takes jsonschema a second; the first check in a notebook would wait for it."""
    asks = "import sys, course.lessons; print('rfc3987_syntax' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True)
    assert answer.stdout == "False\n", answer.stderr
