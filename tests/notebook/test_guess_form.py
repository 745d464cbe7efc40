"""The form of a guess: answered, skipped, changed or refused, and the line that follows a run."""

import time
from pathlib import Path

import pytest
from support.cells import RunCell, refused

from course.notebook import claims, guess_form, guesses
from course.notebook.guess_form import GuessForm
from course.notebook.guesses import Question

ASK = "%%guess growth times\nBy what factor\ndoes the time grow?"
IT_WAS = "from course.notebook import it_was\nit_was('growth', 900.4)"


def form(name: str = "growth") -> GuessForm:
    """The form that a cell of the question has shown."""
    return guess_form._forms[name][0]


def tell(name: str = "growth", after: float = 0.0, **content: object) -> None:
    """Send the form what a click sends, as if this many seconds later."""
    form(name)._handle_custom_msg(content | {"at": (time.time() + after) * 1000}, [])


@pytest.fixture(autouse=True)
def no_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guess_form, "_forms", {})


def test_a_guess_is_kept_at_once_and_shown_beside_the_run(cell: RunCell, labs: Path) -> None:
    assert cell(ASK).error is None
    assert form().question == "By what factor does the time grow?" and form().sentence == ""
    assert form()._static_html() == ""
    tell(answer="16,000")
    assert form().sentence == "You guessed 16,000 times." and form().change == "Change"
    assert guesses.read("growth", labs / "src").guess == 16000
    shown = cell(IT_WAS).shown
    assert shown.startswith("You guessed 16,000 times, it was 900 times: 18 times less.\n")
    assert form().sentence == shown.splitlines()[0] and form().change == ""
    assert guesses.read("growth", labs / "src").value == 900.4


def test_a_guess_can_be_changed_until_the_run_and_not_after_it(cell: RunCell, labs: Path) -> None:
    cell(ASK)
    tell(answer="3")
    tell(answer="4")
    cell(IT_WAS)
    tell(answer="900")
    assert guesses.read("growth", labs / "src").guess == 4


def test_what_is_wrong_is_said_and_the_next_answer_counts(cell: RunCell, labs: Path) -> None:
    cell(ASK)
    for turn in (2, 3):  # also the second time
        tell(answer="many")
        assert form().turn == turn and form().fault.startswith("Your guess here is a number")
    assert guesses.read("growth", labs / "src") is None
    tell(answer="7")
    assert form().fault == "" and form().sentence == "You guessed 7 times."


def test_skipping_is_kept_and_the_run_goes_on(cell: RunCell, labs: Path) -> None:
    cell(ASK)
    tell(skip=True)
    assert form().sentence == "Skipped." and form().change == "Guess"
    cell(ASK)
    assert form().sentence == "Skipped.", "asked once more"
    assert cell(IT_WAS).shown.startswith("It was 900 times.\n")
    assert form().change == "", "asked once more, beside the answer"
    tell(answer="5", after=2)
    assert form().sentence.startswith("You guessed 5 times, it was 900 times")


def test_nobody_answers(cell: RunCell, labs: Path) -> None:
    cell(ASK)
    assert cell(IT_WAS).shown.startswith("It was 900 times.\n")
    assert form().sentence == "" and form().stored == "It was 900 times."
    still = "<details><summary>What the stored run showed</summary>It was 900 times.</details>"
    assert form()._repr_mimebundle_()[0]["text/html"] == still


def test_after_a_restart_the_answer_is_there(cell: RunCell, labs: Path) -> None:
    cell(ASK)
    tell(answer="3")
    guess_form._forms.clear()
    cell(ASK)
    assert form().sentence == "You guessed 3 times."
    guess_form._forms.clear()
    assert "You guessed 3 times, it was 900 times" in cell(IT_WAS).shown
    cell(ASK)
    assert form().sentence.startswith("You guessed 3 times, it was 900") and form().change == ""


def test_a_guess_after_the_run_says_so(cell: RunCell, labs: Path) -> None:
    cell(ASK)
    cell(IT_WAS)
    tell(answer="900", after=-60)
    assert not guesses.read("growth", labs / "src").late, "typed before, read after the run"
    guesses.path("growth", labs / "src").unlink()
    cell(ASK)
    cell(IT_WAS)
    time.sleep(1.1)
    tell(answer="900")
    assert form().sentence.endswith("(You guessed after a run.)")


def test_the_best_of_all_runs_is_kept_where_the_lab_says_what_is_best(
    cell: RunCell, labs: Path
) -> None:
    cell(ASK)
    cell(IT_WAS)
    assert guesses.read("growth", labs / "src").best is None, "nobody said what is better"
    for best, bests in (("max", [3, 4, 4]), ("min", [3, 3, 2])):
        guesses.path("growth", labs / "src").unlink()
        for value, known in zip((3, 4, 2), bests, strict=True):
            cell(f"it_was('growth', {value}, best={best})")
            guess = guesses.read("growth", labs / "src")
            assert (guess.value, guess.best) == (value, known)


def test_choices_and_text(cell: RunCell, labs: Path) -> None:
    cell("%%guess a100 falls | stays the same | rises\nDoes it rise?")
    assert form("a100").choices == ["falls", "stays the same", "rises"]
    tell("a100", answer="stays the same")
    cell("%%guess why\nWhy?")
    tell("why", answer="<b>because</b>")
    assert form("why")._static_html() == "<p>You guessed “&lt;b&gt;because&lt;/b&gt;”.</p>"
    from_run = cell("from course.notebook import it_was\nit_was('a100', 'falls')").shown
    assert from_run.startswith("You guessed “stays the same”, it was “falls”.\n")


@pytest.mark.parametrize(
    "source",
    [
        "%%guess\nWhy?",
        "%%guess Growth times\nWhy?",
        "%%guess growth times\n \n",
        "%%guess a |\nWhy?",
    ],
)
def test_a_question_that_makes_no_sense_is_refused(cell: RunCell, labs: Path, source: str) -> None:
    assert refused(cell(source)).startswith("%%guess takes a name")


def test_an_answer_of_another_kind_or_of_no_question(cell: RunCell, labs: Path) -> None:
    cell(ASK)
    call = "from course.notebook import it_was\nit_was({})"
    assert "another kind of answer" in refused(cell(call.format("'growth', 'much'")))
    assert cell(call.format("'growth', float('nan')")).shown == ""
    assert cell(call.format("'nobody_asked', 3")).shown == "It was 3.\n"
    assert guesses.read("nobody_asked", labs / "src") is None


def test_the_line_after_a_run_brings_its_question(labs: Path) -> None:
    asked = Question("a", "Does `f` <fall> in *this*?", "", ("yes", "no"), "yes", value="no")
    shown = guess_form.GuessAndValue(asked)._repr_html_()
    assert "Does <code>f</code> &lt;fall&gt; in <em>this</em>?</div>You guessed “yes”" in shown
    unasked = guess_form.GuessAndValue(Question("a", "", value=3.0))
    assert "<div style" not in unasked._repr_html_()[4:]


def test_claims_have_a_column_where_something_was_guessed(cell: RunCell, labs: Path) -> None:
    rows = [("It grows.", "900 times", "growth"), ("<It> falls.", "no")]
    before = claims(rows)
    assert before._repr_html_() == claims([row[:2] for row in rows])._repr_html_()
    assert repr(before).startswith("It grows.\n    measured here: 900 times\n")
    cell(ASK)
    tell(answer="16000")
    table = claims(rows)
    assert repr(table) == (
        "It grows.\n    you guessed: 16,000 times\n    measured here: 900 times\n"
        "<It> falls.\n    measured here: no"
    )
    assert table._repr_html_().count("<th ") == 3 and "&lt;It&gt;" in table._repr_html_()
