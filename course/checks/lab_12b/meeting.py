"""Checks of `meeting`, exercise 1 of lab 12b."""

from course.checks.lab_12b import on_rank_meeting as on_rank
from course.checks.tools.hint import hint

THREE = ["0.1", "1.1", "2.1"]
SOON, LATE, DEADLINE = 0.5, 2.5, 2.0  # seconds


class TestMeeting:
    """Exercise 1: who takes part in a round."""

    @hint("What does the store return to someone who proposes when the key is there already?")
    def test_first_wins(self, alone):
        """agree() gives everyone the proposal that came first, and keeps keys apart."""
        answers_of = alone(on_rank.one_after_the_other, ("first", "second", "third"))
        for key, answers in answers_of.items():
            expected = [f"{key}first"] * 3
            assert answers == expected, (
                f"first, second and third are proposed under one key; "
                f"the answers are {', '.join(answer.removeprefix(key) for answer in answers)}"
            )

    @hint(
        "To look first and to write then are two calls, and somebody may come in between them. "
        "Which call of the store does both at once?"
    )
    def test_at_the_same_time(self, alone):
        """agree() gives two callers the same answer at whatever moment the second one comes in."""
        before, calls = 0, 1
        while before <= min(calls, 6):
            mine, other, calls = alone(on_rank.crossing, before)
            assert mine == other, (
                f"two propose at the same time, and agree() tells one {mine!r} "
                f"and the other {other!r}"
            )
            before += 1

    @hint("Nobody is missing. Is there still a reason to wait?")
    def test_all_here(self, alone):
        """A member of the last round closes the list when all of them are there, at once, in
        whatever order they came, and newcomers or not. So does one that was alone in that round.
        """
        complete = [(THREE, THREE), (THREE, ["2.1", "0.1", "1.1"]), (THREE, ["3.1", *THREE, "2.2"])]
        complete += [(["1.1"], ["1.1"]), (["1.1"], ["2.2", "1.1"])]
        for last, here in complete:
            (closes,) = alone(on_rank.closes, [("1.1", last, here, 0.0, DEADLINE)])
            assert closes, f"last round: {last}; here: {here}; 1.1 does not close"

    @hint("Somebody is missing, and the deadline is not over. Which names do you compare?")
    def test_waits(self, alone):
        """Before the deadline nobody closes while a member of the last round is missing, even if
        as many names are there.
        """
        for here in (["0.1", "1.1"], ["0.1", "1.1", "3.1"], ["0.1", "2.2", "1.1"]):
            (closes,) = alone(on_rank.closes, [("1.1", THREE, here, SOON, DEADLINE)])
            assert not closes, (
                f"last round: {THREE}; here: {here}; {SOON} s of {DEADLINE} s are over, "
                "and 1.1 closes"
            )

    @hint("Late is out: what becomes of those who are there when the deadline is over?")
    def test_deadline(self, alone):
        """After the deadline a member of the last round closes without those who are missing."""
        for here in (["0.1", "1.1"], ["1.1"]):
            (closes,) = alone(on_rank.closes, [("1.1", THREE, here, LATE, DEADLINE)])
            assert closes, (
                f"last round: {THREE}; here: {here}; {LATE} s are over, the deadline was "
                f"{DEADLINE} s, and 1.1 does not close"
            )

    @hint("A newcomer was not in the last round. What does it know of those who were?")
    def test_newcomer(self, alone):
        """A newcomer never closes the list."""
        for here, waited in ((["2.2"], LATE), (["0.1", "2.2"], LATE), ([*THREE, "2.2"], SOON)):
            (closes,) = alone(on_rank.closes, [("2.2", THREE, here, waited, DEADLINE)])
            assert not closes, f"last round: {THREE}; here: {here}; the newcomer 2.2 closes"

    @hint("`meet` is given: does `agree` return the text that the store holds, and as a str?")
    def test_meet(self, ranks, alone):
        """Three members and a newcomer meet in two rounds, and all get the same lists; a round
        whose third member never comes is closed by the deadline without it.
        """
        names = ("0.1", "1.1", "2.1", "3.1")
        by_rank = ranks(4, on_rank.rounds, names, 2, join=False)
        assert all(met == by_rank[0] for met in by_rank), f"the ranks have met in {by_rank}"
        for number, members in by_rank[0]:
            assert sorted(members) == sorted(names), f"round {number} has {members}"
        number, members, took = alone(on_rank.without_one, 0.3)
        assert (number, sorted(members)) == (1, ["0.1", "1.1"]), f"round {number} has {members}"
        assert took >= 0.3, f"the deadline was 0.3 s, and the list is closed after {took:.2f} s"
