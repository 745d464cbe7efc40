"""What the checks of `predict` do: call the learner's functions, in one process."""

import importlib


def hierarchical(
    cases: list[tuple], inside: tuple[float, float], network: tuple[float, float]
) -> list[float]:
    """The learner's seconds for each (bytes, nodes, GPUs per node), on links of (alpha, beta)."""
    script = importlib.import_module("predict")
    links = script.Link(*inside), script.Link(*network)
    return [float(script.hierarchical(*case, *links)) for case in cases]


def step_seconds(cases: list[tuple[float, float, float]]) -> list[float]:
    """The learner's seconds of a step for each (compute, communication, share that may hide)."""
    script = importlib.import_module("predict")
    return [float(script.step_seconds(*case)) for case in cases]
