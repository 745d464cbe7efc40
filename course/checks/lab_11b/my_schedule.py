"""Checks of my_schedule: the order in which the stages of a pipeline work."""

from collections import deque
from collections.abc import Callable

from course.checks.lab_11b import on_rank_schedule as on_rank
from course.checks.tools.hint import Undecided, hint
from course.checks.tools.reference import CLOSE, furthest
from course.core import words

SHAPES = [(1, 1), (1, 3), (2, 1), (2, 2), (2, 5), (3, 2), (4, 4), (4, 8), (5, 3), (9, 12)]
FORWARD, BACKWARD = 1, 2  # what a pass costs
Actions = list[tuple[str, int]]


def listed(actions: Actions) -> str:
    """Actions for a reader, "F0 F1 B0 …"."""
    shown = " ".join(f"{kind}{i}" for kind, i in actions[:10])
    return f"{shown} …" if len(actions) > 10 else shown or "an empty list"


def played(schedule: list[Actions]) -> tuple[list[float], list[Actions]]:
    """Follow the lists: when each stage is done, and what each could not do.

    A message waits for the stage that it is for; messages arrive in the order of sending.
    """
    stages = len(schedule)
    free, left = [0.0] * stages, [deque(actions) for actions in schedule]
    down = [deque() for _ in range(stages)]  # to each stage from the one before
    up = [deque() for _ in range(stages)]  # to each stage from the next one
    moved = True
    while moved:
        moved = False
        for stage, actions in enumerate(left):
            while actions:
                kind, i = actions[0]
                box, edge = (down, 0) if kind == "F" else (up, stages - 1)
                ready = 0.0
                if stage != edge:
                    if not box[stage] or box[stage][0][0] != i:
                        break  # it is not there, or another one lies before it
                    ready = box[stage].popleft()[1]
                free[stage] = max(free[stage], ready) + (FORWARD if kind == "F" else BACKWARD)
                if kind == "F" and stage < stages - 1:
                    down[stage + 1].append((i, free[stage]))
                if kind == "B" and stage > 0:
                    up[stage - 1].append((i, free[stage]))
                actions.popleft()
                moved = True
    return free, [list(actions) for actions in left]


def broken(schedule: list[Actions], stages: int, count: int) -> str:
    """What is wrong with the lists as such; "" if each has every pass once, and forward first."""
    if len(schedule) != stages:
        return f"there are lists for {words.plural(len(schedule), 'stage')}, not for {stages}"
    expected = sorted((kind, i) for kind in "FB" for i in range(count))
    for stage, actions in enumerate(schedule):
        shown = f"stage {stage}: {listed(actions)}"
        if sorted(actions) != expected:
            return f"{shown} is not each pass once"
        for i in range(count):
            if actions.index(("F", i)) > actions.index(("B", i)):
                return f"{shown} has B{i} before F{i}"
    return ""


def stuck(schedule: list[Actions]) -> str:
    """Which stages wait forever for what; "" if every list comes to its end."""
    _, left = played(schedule)
    waiting = [(stage, actions[0]) for stage, actions in enumerate(left) if actions]
    return ", ".join(f"stage {stage} waits to do {kind}{i}" for stage, (kind, i) in waiting)


class TestMySchedule:
    """Exercise 1: the schedules of a pipeline."""

    def schedules(
        self, ranks: Callable, name: str = ""
    ) -> list[tuple[str, int, int, list[Actions]]]:
        """(function, stages, micro-batches, schedule) for many shapes."""
        (results,) = ranks(1, on_rank.schedules, SHAPES)
        return [
            (f"{function}({stages}, {count})", stages, count, schedule)
            for (function, stages, count), schedule in results.items()
            if function.startswith(name)
        ]

    def complete(
        self, ranks: Callable, name: str = ""
    ) -> list[tuple[str, int, int, list[Actions]]]:
        """The same, for a check that makes sense only where each pass is there once."""
        results = self.schedules(ranks, name)
        for call, stages, count, schedule in results:
            if broken(schedule, stages, count):
                raise Undecided(f"a list of {call} is not complete yet: see the first check")
        return results

    def ending(self, ranks: Callable) -> list[tuple[str, int, int, list[Actions]]]:
        """The same, for a check that makes sense only if no stage waits forever."""
        results = self.complete(ranks)
        for call, _, _, schedule in results:
            if stuck(schedule):
                raise Undecided(f"{call} never ends: see the second check")
        return results

    @hint("For 2 stages, write both lists on paper: with 3 micro-batches, and with only 1.")
    def test_everything_once(self, ranks):
        """Every stage does each forward and each backward pass once, and forward first."""
        for call, stages, count, schedule in self.schedules(ranks):
            wrong = broken(schedule, stages, count)
            assert not wrong, f"{call}: {wrong}"

    @hint("A stage takes messages in the order of sending: do its neighbours have the same order?")
    def test_ends(self, ranks):
        """No stage waits forever for a neighbour."""
        for call, _, _, schedule in self.complete(ranks):
            assert not stuck(schedule), f"{call} never ends: {stuck(schedule)}"

    @hint("In which order does GPipe go back through the micro-batches?")
    def test_gpipe(self, ranks):
        """GPipe does all forward passes, then the backward passes from the last one on."""
        for call, _, count, schedule in self.complete(ranks, "gpipe"):
            expected = [("F", i) for i in range(count)] + [("B", i) for i in reversed(range(count))]
            for stage, actions in enumerate(schedule):
                assert actions == expected, (
                    f"{call}, stage {stage}: {listed(actions)} instead of {listed(expected)}"
                )

    @hint("How many micro-batches can be on their way between a stage and the end of the pipeline?")
    def test_memory(self, ranks):
        """In 1F1B, a stage keeps activations of one micro-batch for itself and each later stage."""
        for call, stages, count, schedule in self.complete(ranks, "one_f_one_b"):
            for stage, actions in enumerate(schedule):
                alive = most = 0
                for kind, _ in actions:
                    alive += 1 if kind == "F" else -1
                    most = max(most, alive)
                allowed = min(stages - stage, count)
                assert most <= allowed, (
                    f"{call}, stage {stage} of {stages}: {listed(actions)} keeps {most} "
                    f"micro-batches, {allowed} would do"
                )

    @hint("Play four stages by hand: while stage 0 waits, could it have done something earlier?")
    def test_bubble(self, ranks):
        """A step takes as long as m + p - 1 forward and as many backward passes, no longer."""
        for call, stages, count, schedule in self.ending(ranks):
            free, _ = played(schedule)
            expected = (FORWARD + BACKWARD) * (count + stages - 1)
            assert max(free) == expected, (
                f"{call} takes {max(free):g} units of time, {expected} would do"
            )

    @hint("Do the functions return the same lists on every rank?")
    def test_on_ranks(self, ranks):
        """A pipeline that follows the lists has the gradients of one process, on real ranks."""
        self.ending(ranks)
        for name in on_rank.FUNCTIONS:
            expected = on_rank.alone(3, 4)
            for stage, got in enumerate(ranks(3, on_rank.gradients, name, 4)):
                assert None not in got, f"{name}: stage {stage} has no gradients"
                wrong = furthest(got, expected[stage])
                assert wrong < CLOSE, f"{name}: stage {stage}'s gradients are off by {wrong:.2g}"
