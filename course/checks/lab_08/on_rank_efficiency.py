"""What the checks of `efficiency` do: call the learner's functions, in one process."""

import importlib


def speedups(rates: dict[tuple[int, int], float], together: int) -> dict[int, float]:
    """The learner's speed-ups by number of ranks."""
    results = importlib.import_module("efficiency").speedups(rates, together)
    return {int(ranks): float(speedup) for ranks, speedup in results.items()}


def karp_flatt(cases: list[tuple[float, int]]) -> list[float]:
    """The learner's serial share for each (speed-up, ranks)."""
    script = importlib.import_module("efficiency")
    return [float(script.karp_flatt(*case)) for case in cases]
