"""Run the engine of lab 06 on a rank while a check acts, and record its requests."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

from course.given import horovod


@contextmanager
def running_engine() -> Iterator[None]:
    """Within the block, the engine runs."""
    horovod.init()
    yield
    horovod.shutdown()


@contextmanager
def calls_of_the_engine() -> Iterator[list[str]]:
    """Within the block, record the calls of the engine's `submit` and `wait`, in order.

    Every operation begins with `submit` and ends with `wait`, whichever of Horovod's functions the
    learner calls.
    """
    engine, calls = horovod.engine(), []

    def noted(method: Callable) -> Callable:
        def call(*args: object, **kwargs: object) -> object:
            calls.append(method.__name__)
            return method(*args, **kwargs)

        return call

    with ExitStack() as stack:
        for method in (engine.submit, engine.wait):
            replaced = mock.patch.object(engine, method.__name__, noted(method))
            stack.enter_context(replaced)
        yield calls


@contextmanager
def slow_operations(seconds: float) -> Iterator[None]:
    """Within the block, every message of the engine takes that many seconds longer.

    So code that does not wait for an operation returns while the operation is under way.
    """
    runner = horovod.engine().runner
    run = runner.run

    def later(handles: list) -> object:
        time.sleep(seconds)
        return run(handles)

    with mock.patch.object(runner, "run", later):
        yield
