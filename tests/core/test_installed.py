"""Which version of a package is installed."""

import pytest

from course.core import installed


def test_the_version_of_a_package_is_none_if_it_is_not_installed():
    assert installed.version("pytest") == pytest.__version__
    assert installed.version("no-such-package-at-all") is None
