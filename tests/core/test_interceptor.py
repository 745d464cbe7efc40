"""What `intercepted` calls around functions, and what the functions then return."""

import torch.distributed as dist

from course.core.interceptor import intercepted


class Home:
    """A class with a function."""

    def name(self) -> str:
        return "home"


class Other:
    """A class whose function of that name is another one."""

    def name(self) -> str:
        return "other"


class Same:
    """A class that has a function of another class."""

    name = Home.name


def test_each_home_keeps_its_own_function() -> None:
    seen = []

    def around(name: str, real: object, args: tuple, kwargs: dict) -> object:
        seen.append(name)
        return real(*args, **kwargs)

    before = [vars(home)["name"] for home in (Home, Other, Same)]
    with intercepted(around, ["name"], (Home, Other, Same)):
        assert [Home().name(), Other().name(), Same().name()] == ["home", "other", "home"]
    assert seen == ["name"] * 3
    assert [vars(home)["name"] for home in (Home, Other, Same)] == before


def test_functions_that_are_compiled_can_be_homes_of_a_name() -> None:
    with intercepted(lambda name, real, args, kwargs: name, ["wait"], (dist.Work, Home)):
        assert dist.Work.wait() == "wait"
