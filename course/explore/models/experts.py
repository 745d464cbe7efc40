"""Tokens that each choose one expert: how many each rank computes, and how many are dropped."""

import math
import random
from collections import Counter
from dataclasses import dataclass

from course.core import CourseError

RANKS, EXPERTS_PER_RANK, TOKENS = 4, 2, 12  # TOKENS counts those of one rank
EXPERTS = RANKS * EXPERTS_PER_RANK
NO_LIMIT = 8.0  # the capacity factor at which an expert takes every token


@dataclass(frozen=True)
class Flow:
    """The expert of each token, ``chosen[rank][token]``, and whether it takes it, ``kept``."""

    chosen: tuple[tuple[int, ...], ...]
    kept: tuple[tuple[bool, ...], ...]
    room: int  # the most tokens of one rank that an expert takes

    def rows(self, rank: int, expert: int) -> tuple[int, int]:
        """How many tokens of a rank the expert takes, and how many it drops."""
        choices = zip(self.chosen[rank], self.kept[rank], strict=True)
        taken = [kept for choice, kept in choices if choice == expert]
        return sum(taken), len(taken) - sum(taken)

    def computed(self, rank: int) -> int:
        """The number of rows that the experts of a rank compute, from all ranks."""
        held = range(rank * EXPERTS_PER_RANK, (rank + 1) * EXPERTS_PER_RANK)
        return sum(self.rows(sender, expert)[0] for sender in range(RANKS) for expert in held)

    @property
    def dropped(self) -> int:
        """The number of tokens whose expert has no room."""
        return sum(not kept for choices in self.kept for kept in choices)

    @property
    def slowdown(self) -> float:
        """The time of the layer relative to an even load; all ranks wait for the busiest one."""
        return max(map(self.computed, range(RANKS))) / TOKENS


def flow(popular: float = 0.0, factor: float = NO_LIMIT, seed: int = 2) -> Flow:
    """Let the share `popular` (0 to 1) of all tokens choose expert 0; spread the rest evenly.

    An expert takes at most `factor` times an even load from each rank, rounded up, and drops the
    tokens after that. Raises `CourseError` for impossible numbers.
    """
    if not 0 <= popular <= 1 or factor <= 0:
        raise CourseError("The share of the popular expert is 0 to 1, and the factor above 0.")
    draw = random.Random(seed)
    most, room = round(popular * TOKENS), math.ceil(factor * TOKENS / EXPERTS)
    chosen, kept = [], []
    for rank in range(RANKS):
        begin = rank * (TOKENS - EXPERTS)  # so that each expert gets the same number in all
        others = [(begin + index) % EXPERTS for index in range(TOKENS)]
        draw.shuffle(others)
        drawn = draw.sample(range(TOKENS), TOKENS)[:most]  # a larger share includes these tokens
        choices = [0 if token in drawn else other for token, other in enumerate(others)]
        demand: Counter[int] = Counter()
        taken = []
        for choice in choices:
            demand[choice] += 1
            taken.append(demand[choice] <= room)
        chosen.append(tuple(choices))
        kept.append(tuple(taken))
    return Flow(tuple(chosen), tuple(kept), room)
