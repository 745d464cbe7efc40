"""The options of the tools, in a terminal and in a notebook."""

from collections.abc import Callable

import pytest

from course.core import CourseError
from course.diagnostics import options

MAGICS = pytest.mark.parametrize("read", [options.why, options.right, options.fit])


@MAGICS
def test_a_magic_has_a_help(read: Callable, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit):
        read(["--help"], magic=True)
    text = capsys.readouterr().out
    assert text.startswith(f"usage: %{read.__name__} [") and "--patience" not in text


@pytest.mark.parametrize("read", [options.right, options.fit])
def test_the_help_says_that_a_script_really_writes_more_than_once(
    read: Callable, capsys: pytest.CaptureFixture
) -> None:
    with pytest.raises(SystemExit):
        read(["--help"])
    assert "really deletes and writes" in " ".join(capsys.readouterr().out.split())


@MAGICS
def test_a_magic_without_a_command_names_itself(read: Callable) -> None:
    with pytest.raises(CourseError, match=f"example: %{read.__name__} -- torchrun "):
        read([], magic=True)


@pytest.mark.parametrize("read", [options.run, options.why, options.right, options.fit])
def test_an_option_that_cannot_be_understood_is_one_sentence(read: Callable) -> None:
    usage = f"Usage: python -m course {read.__name__} .* -- torchrun "
    with pytest.raises(CourseError, match=f"unrecognized arguments: --stepz. {usage}"):
        read(["--stepz"])
