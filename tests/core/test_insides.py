"""If another library has lost a name that we use, one sentence says so."""

from types import ModuleType, SimpleNamespace

import accelerate
import pytest
import torch

from course.core import CourseError, UnknownTorch, insides

ADVICE = "which the course builds on: install the release that the course was tested with"


class Handler:
    """Stands for a class of torch."""

    __module__ = "torch.distributed.handlers"


@pytest.mark.parametrize(
    ("home", "where"), [(torch, "torch"), (Handler, "Handler"), (Handler(), "Handler")]
)
def test_a_name_of_torch_that_is_gone(home: object, where: str) -> None:
    sentence = rf"^torch \S+ has no {where}\.no_such_name, {ADVICE}"
    with pytest.raises(UnknownTorch, match=sentence):
        insides.inside(home, "no_such_name")
    with pytest.raises(UnknownTorch, match=sentence):
        insides.replace(home, "no_such_name", None)
    assert not hasattr(home, "no_such_name")


def test_a_name_of_another_library_that_is_gone() -> None:
    with pytest.raises(CourseError, match=r"^accelerate \S+ has no accelerate\.no_such_") as raised:
        insides.inside(accelerate, "no_such_name")
    assert not isinstance(raised.value, UnknownTorch)


def test_a_module_that_is_gone() -> None:
    with pytest.raises(UnknownTorch, match=rf"^torch \S+ has no torch\.no\.such, {ADVICE}"):
        insides.module("torch.no.such")
    assert insides.module("torch.distributed") is torch.distributed


def test_what_is_there_is_replaced() -> None:
    home = ModuleType("torch")
    home.name = 1
    insides.replace(home, "name", 2)
    assert insides.inside(home, "name") == 2


def test_what_only_saves_time_may_be_gone() -> None:
    home = SimpleNamespace(slow=1)
    insides.replace_if_there(home, "slow", 2)
    insides.replace_if_there(home, "gone", 2)
    assert vars(home) == {"slow": 2}
