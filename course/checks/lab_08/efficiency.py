"""Checks of `efficiency`, exercise 2 of lab 08."""

from course.checks.engine.hint import hint
from course.checks.lab_08 import on_rank_efficiency as on_rank


class TestEfficiency:
    """Exercise 2: what the throughputs say."""

    @hint("n ranks at their best are n times as fast as one")
    def test_efficiency(self, alone):
        """The efficiency is 1 where scaling is perfect, and lower by what is missing."""
        got = alone(on_rank.efficiency, {1: 50.0, 2: 100.0, 4: 150.0, 8: 100.0})
        assert got == {1: 1.0, 2: 1.0, 4: 0.75, 8: 0.25}, (
            f"of 50, 100, 150, 100 with 1, 2, 4, 8 ranks it makes {got}"
        )

    @hint("put a speed-up of n into it, then a speed-up of 1")
    def test_karp_flatt(self, alone):
        """karp_flatt() finds the serial share that Amdahl's law was given."""
        cases = [(share, n) for share in (0.0, 0.1, 0.5, 1.0) for n in (2, 7, 64)]
        speedups = [(1 / (share + (1 - share) / n), n) for share, n in cases]
        found = alone(on_rank.karp_flatt, speedups)
        for (share, n), got in zip(cases, found, strict=True):
            assert abs(got - share) < 1e-9, (
                f"{n} ranks, a serial share of {share}: it finds {got:.3g}"
            )
