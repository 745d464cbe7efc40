"""A library that can do without a module is imported without it, and nothing else changes."""

import importlib.util
import subprocess
import sys

import pytest

from course.core import imports

SLOW = "'torch', 'rfc3987_syntax', 'jupyter_server'"


def test_a_module_is_missing_only_meanwhile():
    with imports.without("this"), pytest.raises(ImportError):
        importlib.import_module("this")
    assert "this" not in sys.modules and importlib.util.find_spec("this")


def test_what_is_imported_already_stays():
    with imports.without("json"):
        assert importlib.import_module("json").loads("[1]") == [1]


def test_lessons_are_read_without_a_grammar_of_addresses():
    """jsonschema takes a second to load it, which the first check in a notebook would wait for."""
    assert imported_by("import course.lessons") == set()


def test_a_command_begins_without_torch_and_without_a_grammar_of_addresses():
    """Either takes seconds, which a terminal would wait for even to show the command's help."""
    asks = """if True:
        import contextlib
        from course.__main__ import COMMANDS, main
        for command in COMMANDS.keys() - {"lab"}:  # whose options are those of JupyterLab
            with contextlib.suppress(SystemExit), contextlib.redirect_stdout(None):
                main([command, "--help"])
    """
    assert imported_by(asks) == set()


def test_a_notebook_begins_without_torch():
    assert imported_by("import course.notebook") == set()


def imported_by(code):
    """The slow modules that the code imports."""
    show = f"import sys; print(*{{{SLOW}}} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return set(done.stdout.split())
