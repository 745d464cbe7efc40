"""Classify a gradient across the ranks: the mean of their own, each rank's own, or neither."""

from dataclasses import dataclass

import numpy as np

from course.diagnostics.right.thresholds import DISTINCT, EXACT, ROUNDING_16_BIT

MEAN, OWN, UNEQUAL, OTHER, NONE, BROKEN = "mean", "own", "unequal", "other", "none", "not finite"


@dataclass(frozen=True)
class GradientKind:
    """How one parameter's gradient compares across the ranks.

    ``mean``: equal on all ranks, `factors` times the mean of the ranks' own. ``own``: each rank
    has its own, times its factor. ``unequal``: neither of the two. ``other``: equal, but not the
    mean. ``none``: there is no gradient. ``not finite``: a value is infinite or NaN.
    `residuals` are each rank's distance from a multiple of the mean, relative to its norm.
    """

    name: str
    factors: tuple[float, ...] = ()
    residuals: tuple[float, ...] = ()
    distinct: bool = False  # whether the ranks' own gradients differ

    @property
    def factor(self) -> float:
        """The first rank's factor."""
        return self.factors[0] if self.factors else 1.0


def gradient_kind(own: np.ndarray, now: np.ndarray) -> GradientKind:
    """Compare the ranks' own gradients with the current ones; both have shape (ranks, values)."""
    if not (np.isfinite(own).all() and np.isfinite(now).all()):
        return GradientKind(BROKEN)
    norms = np.linalg.norm(own, axis=1)
    if not norms.any() or not now.size:
        return GradientKind(NONE)
    distinct = bool(np.abs(own - own[0]).max() > DISTINCT * np.abs(own).max())
    mean = own.mean(0)
    fits = [fit_multiple(gradient, mean) for gradient in now]
    factors, residuals = zip(*fits, strict=True)
    if np.abs(now - now[0]).max() <= EXACT * np.abs(now).max():
        name = MEAN if residuals[0] < ROUNDING_16_BIT and now.any() else OTHER
        return GradientKind(name, factors, residuals, distinct)
    fits = [fit_multiple(gradient, mine) for gradient, mine in zip(now, own, strict=True)]
    if distinct and all(residual < ROUNDING_16_BIT for _, residual in fits):
        return GradientKind(OWN, tuple(factor for factor, _ in fits), residuals, distinct)
    return GradientKind(UNEQUAL, factors, residuals, distinct)


def fit_multiple(gradient: np.ndarray, reference: np.ndarray) -> tuple[float, float]:
    """Fit a gradient by a multiple of another; return the factor and the relative residual."""
    square, norm = float(reference @ reference), float(np.linalg.norm(gradient))
    factor = float(gradient @ reference) / square if square else 0.0
    return factor, float(np.linalg.norm(gradient - factor * reference)) / norm if norm else 0.0
