"""Checks of `efficiency`, exercise 2 of lab 08."""

from course.checks.lab_08 import on_rank_efficiency as on_rank
from course.checks.tools.hint import hint

# Samples per second by (ranks, batch of each rank).
RATES = {
    (2, 16): 150.0,
    (1, 8): 50.0,
    (1, 16): 80.0,
    (1, 32): 100.0,
    (2, 8): 95.0,
    (2, 32): 190.0,
    (3, 5): 140.0,
    (3, 10): 210.0,
    (3, 20): 220.0,
    (1, 60): 110.0,
    (4, 8): 160.0,
    (4, 16): 290.0,
    (8, 4): 200.0,
}


class TestEfficiency:
    """Exercise 2: strong scaling, and what kind of loss it shows."""

    @hint(
        "Strong scaling lies on the diagonals of the table: "
        "how large is the global batch of each measurement?"
    )
    def test_same_problem(self, alone):
        """speedups() picks the ranks that share one global batch, and no others."""
        for together, expected in ((16, [2]), (32, [2, 4, 8]), (60, [3])):
            got = sorted(alone(on_rank.speedups, RATES, together))
            assert got in (expected, [1, *expected]), (  # one rank's own, 1.0, may be left out
                f"for a global batch of {together} it finds the numbers of ranks {got}, "
                f"not {expected}"
            )

    @hint("One rank that has the whole global batch is what the others are compared with.")
    def test_speedups(self, alone):
        """A speed-up compares with one rank that has the whole global batch."""
        expected = {16: {1: 1.0, 2: 95.0 / 80}, 32: {1: 1.0, 2: 1.5, 4: 1.6, 8: 2.0}}
        expected[60] = {1: 1.0, 3: 2.0}
        for together, speedups in expected.items():
            got = {1: 1.0} | alone(on_rank.speedups, RATES, together)
            assert all(abs(got.get(n, 0.0) - speedup) < 1e-9 for n, speedup in speedups.items()), (
                f"for a global batch of {together} the speed-ups are {got}, not {speedups}"
            )

    @hint("Try a speed-up of n, then a speed-up of 1: which shares must come out?")
    def test_karp_flatt(self, alone):
        """karp_flatt() finds the share that Amdahl's law was given. It is below 0 where n ranks are
        more than n times as fast, and above 1 where they are slower than one.
        """
        cases = [(share, n) for share in (0.0, 0.105, 0.5, 1.0, -0.0125, 1.5) for n in (2, 7, 64)]
        speedups = [(1 / (share + (1 - share) / n), n) for share, n in cases]
        results = alone(on_rank.karp_flatt, speedups)
        for (share, n), got in zip(cases, results, strict=True):
            assert abs(got - share) < 1e-9, (
                f"with {n} ranks and a serial share of {share} it finds {got:.3g}"
            )
