"""Classify a gradient across the ranks: the mean of their own, each rank's own, or neither."""

from dataclasses import dataclass

import numpy as np

from course.diagnostics.right.thresholds import DISTINCT, EXACT, ROUNDING_16_BIT

MEAN, OWN, APART, OTHER, NONE, BROKEN = "mean", "own", "apart", "other", "none", "not finite"


@dataclass(frozen=True)
class GradientKind:
    """How one parameter's gradient compares across the ranks.

    ``mean``: equal on all ranks, `factors` times the mean of the ranks' own. ``own``: each rank
    has its own, times its factor. ``apart``: unequal, and neither of the two. ``other``: equal, but
    not the mean. ``none``: there is no gradient. ``not finite``: a value is infinite or NaN.
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
    size = np.linalg.norm(own, axis=1)
    if not size.any() or not now.size:
        return GradientKind(NONE)
    distinct = bool(np.abs(own - own[0]).max() > DISTINCT * np.abs(own).max())
    mean = own.mean(0)
    multiples = [multiple(gradient, mean) for gradient in now]
    factors, residuals = zip(*multiples, strict=True)
    if np.abs(now - now[0]).max() <= EXACT * np.abs(now).max():
        name = MEAN if residuals[0] < ROUNDING_16_BIT and now.any() else OTHER
        return GradientKind(name, factors, residuals, distinct)
    multiples = [multiple(gradient, mine) for gradient, mine in zip(now, own, strict=True)]
    if distinct and all(residual < ROUNDING_16_BIT for _, residual in multiples):
        return GradientKind(OWN, tuple(factor for factor, _ in multiples), residuals, distinct)
    return GradientKind(APART, factors, residuals, distinct)


def multiple(now: np.ndarray, of: np.ndarray) -> tuple[float, float]:
    """Fit a gradient by a multiple of `of`; return the factor and the relative residual."""
    square, size = float(of @ of), float(np.linalg.norm(now))
    factor = float(now @ of) / square if square else 0.0
    return factor, float(np.linalg.norm(now - factor * of)) / size if size else 0.0
