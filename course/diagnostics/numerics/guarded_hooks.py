"""On a rank: hooks around functions of the script, none of whose own errors reaches the script."""

from functools import partial

from course.diagnostics.numerics.fence import HOOKS, Fence
from course.diagnostics.watch.hook_set import (
    Args,
    Around,
    Function,
    HookSet,
    Kwargs,
    StepHook,
)
from course.diagnostics.watch.late_import import OnImport


class GuardedHooks(HookSet):
    """Hooks that may fail: the script still gets what the function itself returns or raises."""

    def __init__(self, fence: Fence) -> None:
        super().__init__()
        self._fence = fence

    def around(self, ours: Around, names: tuple[str, ...], *homes: object) -> None:
        """Call `ours` instead of these functions; if it fails, the function alone counts."""
        super().around(partial(self._guarded, ours), names, *homes)

    def on_import(self, module: str, act: OnImport) -> None:
        """Call `act` with a module as soon as the script has imported it."""
        super().on_import(module, self._fence.guard(act))

    def steps(self, before: StepHook, after: StepHook) -> None:
        """Call `before` and `after` around each step of an optimizer."""
        super().steps(self._fence.guard(before), self._fence.guard(after))

    def _guarded(
        self, ours: Around, name: str, real: Function, args: Args, kwargs: Kwargs
    ) -> object:
        call = _Call(real)
        try:
            return ours(name, call, args, kwargs)
        except Exception as error:
            if error is call.error:
                raise
            self._fence.note(HOOKS, error)
            if call.error is not None:
                raise call.error from None
            return call.result if call.is_done else real(*args, **kwargs)
        finally:
            call.error = None  # or the error, its frames and `call` would keep each other alive


class _Call:
    """Calls the function that is hooked, and remembers how that ended."""

    def __init__(self, real: Function) -> None:
        self._real = real
        self.is_done, self.result = False, None
        self.error: BaseException | None = None

    def __call__(self, *args: object, **kwargs: object) -> object:
        try:
            self.result = self._real(*args, **kwargs)
        except BaseException as error:
            self.error = error
            raise
        self.is_done = True
        return self.result
