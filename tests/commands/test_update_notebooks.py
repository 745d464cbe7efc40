"""What a learner wrote in a notebook is also in its new version."""

import nbformat
import pytest
from support.clones import ANSWER, LAB, WRITER, backups, edit, git, release, solve, sources

from course.commands import update


def test_answers_and_notes_are_in_the_new_version_and_the_old_notebook_is_kept(
    origin, clone, capsys
):
    mine = edit(clone, solve)
    release(origin)
    update.main([])
    cells = sources(clone)
    place = cells.index(ANSWER)
    assert cells[place + 1] == "My note"
    blank = sources(origin)
    assert [*cells[:place], *cells[place + 2 :]] == [*blank[:place], *blank[place + 1 :]]
    assert any("How?" in cell for cell in cells)
    assert backups(clone) == [mine]
    output = capsys.readouterr().out
    assert f"{LAB}: the new version, with 2 cells of yours (adding)." in output
    assert "Reload Notebook from Disk" in output and "Restart the kernels" in output
    assert git(clone, "status", "--porcelain") == f"M {LAB}"
    assert git(clone, "rev-parse", "HEAD") == git(origin, "rev-parse", "HEAD")
    nbformat.validate(nbformat.read(clone / LAB, 4))


def test_a_second_update_carries_everything_over_again(origin, clone):
    edit(clone, solve)
    release(origin)
    update.main([])
    once = sources(clone)
    release(origin, "Now a third one.", "A third one.")
    update.main([])
    new = [cell.replace("Now a third one.", "A third one.") for cell in once]
    assert new != once and sources(clone) == new


def test_an_exercise_with_a_new_form_is_blank_and_the_answer_is_named(origin, clone, capsys):
    mine = edit(clone, solve)
    release(origin, "hint: one addition", "hint: add")
    update.main([])
    blank = sources(origin)
    assert sources(clone) == [*blank[:3], "My note", *blank[3:]]
    assert backups(clone) == [mine]
    assert "adding: the cell is new, so yours is only in the old notebook." in (
        capsys.readouterr().out
    )


def test_a_notebook_that_was_only_run_becomes_the_new_one(origin, clone):
    def run(cells: list) -> None:
        cells[1].execution_count = 1
        cells.append(nbformat.v4.new_code_cell(""))  # as Shift+Enter adds one

    mine = edit(clone, run)
    release(origin)
    update.main([])
    assert (clone / LAB).read_text() == (origin / LAB).read_text()
    assert backups(clone) == [mine]


@pytest.mark.parametrize("ids", ["other-{}", "cell-{:02}"], ids=["new ones", "of other cells"])
def test_cells_are_known_again_where_an_editor_has_given_them_other_ids(origin, clone, ids):
    def as_an_editor(cells: list) -> None:
        solve(cells)
        for number, cell in enumerate(cells):
            cell.id = ids.format(number)

    edit(clone, as_an_editor)
    release(origin)
    update.main([])
    place = sources(clone).index(ANSWER)
    assert sources(clone)[place + 1] == "My note"
    assert len(sources(clone)) == len(sources(origin)) + 1


def test_an_answer_and_the_blank_form_that_a_reset_left_below_it_stay_in_this_order(origin, clone):
    def reset(cells: list) -> None:
        solve(cells)
        blank = next(cell for cell in sources(clone) if cell.startswith(WRITER))
        cells.append(nbformat.v4.new_code_cell(blank))

    edit(clone, reset)
    release(origin)
    update.main([])
    written = [cell for cell in sources(clone) if cell.startswith(WRITER)]
    assert written[0] == ANSWER and [cell.count("TODO") for cell in written] == [0, 4]
