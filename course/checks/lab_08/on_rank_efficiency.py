"""What the checks of `efficiency` do: call the learner's functions, in one process."""

import importlib


def efficiency(throughputs: dict[int, float]) -> dict[int, float]:
    """The learner's efficiency by number of ranks."""
    return importlib.import_module("efficiency").efficiency(throughputs)


def karp_flatt(cases: list[tuple[float, int]]) -> list[float]:
    """The learner's serial share for each (speed-up, ranks)."""
    script = importlib.import_module("efficiency")
    return [script.karp_flatt(*case) for case in cases]
