"""``python -m course update`` in real clones: a new version comes, and a learner loses nothing."""

import shutil
from pathlib import Path

import nbformat
import pytest
from support.clones import ANSWER, LAB, backups, edit, git, release, solve, sources

from course.__main__ import main
from course.commands import update
from course.core import CourseError


def state(clone: Path) -> dict[Path, bytes]:
    """The contents of every file that a learner sees in a clone, and the commit."""
    files = [path for path in clone.rglob("*") if path.is_file() and ".git" not in path.parts]
    commit = {Path("HEAD"): git(clone, "rev-parse", "HEAD").encode()}
    return commit | {path: path.read_bytes() for path in files}


def refused(clone: Path) -> str:
    """The message of a failed command, after a check that the clone is unchanged."""
    before = state(clone)
    with pytest.raises(CourseError) as error:
        update.main([])
    assert state(clone) == before
    sentence = str(error.value)
    assert "\n" not in sentence
    return sentence


def test_the_newest_version_is_left_alone(clone, capsys):
    edit(clone, solve)
    before = state(clone)
    assert main(["update"]) == 0
    assert capsys.readouterr().out == "This is the newest version of the course.\n"
    assert state(clone) == before


def test_what_the_new_version_does_not_touch_stays_as_it_is(origin, clone, capsys):
    other = "labs/01_next.ipynb"
    mine = edit(clone, lambda cells: cells.append(nbformat.v4.new_markdown_cell("Mine")), other)
    (clone / "README.md").write_text("My README\n")
    release(origin)
    update.main([])
    assert (clone / other).read_text() == mine
    assert (clone / "README.md").read_text() == "My README\n"
    assert (clone / LAB).read_text() == (origin / LAB).read_text()
    assert not (clone / update.BACKUPS).exists()
    assert "notebooks" not in capsys.readouterr().out


def test_a_broken_notebook_is_kept(origin, clone, capsys):
    (clone / LAB).write_text("<<<<<<< mine\n")
    release(origin)
    update.main([])
    assert (clone / LAB).read_text() == (origin / LAB).read_text()
    assert backups(clone) == ["<<<<<<< mine\n"]
    assert f"{LAB}: nothing of yours could be put into the new version" in capsys.readouterr().out


def test_a_notebook_that_the_new_version_lacks_is_kept(origin, clone, capsys):
    mine = edit(clone, solve)
    git(origin, "rm", "--quiet", LAB)
    git(origin, "commit", "--message", "Without it")
    update.main([])
    assert not (clone / LAB).exists() and backups(clone) == [mine]
    assert f"{LAB}: the new version does not have it." in capsys.readouterr().out


def test_a_deleted_notebook_comes_back(origin, clone, capsys):
    (clone / LAB).unlink()
    release(origin)
    update.main([])
    assert (clone / LAB).read_text() == (origin / LAB).read_text()
    assert f"{LAB}: you had deleted it, and it is there again." in capsys.readouterr().out


def test_notebooks_that_were_staged_are_carried_over_too(origin, clone):
    edit(clone, solve)
    git(clone, "add", LAB)
    release(origin)
    update.main([])
    assert ANSWER in sources(clone)


def test_a_change_in_another_file_that_is_new_too_is_named(origin, clone):
    edit(clone, solve)
    (clone / "README.md").write_text("My README\n")
    (origin / "README.md").write_text("Second\n")
    release(origin)
    assert refused(clone).startswith("You changed README.md, and so does the new version: ")


@pytest.mark.parametrize("name", ["labs/new.ipynb", "my.log"], ids=["untracked", "ignored"])
def test_a_file_of_the_learners_that_is_in_the_way_is_named(origin, clone, name):
    edit(clone, solve)
    (clone / name).write_text("mine")
    (origin / name).write_text("theirs")
    git(origin, "add", "--force", name)
    release(origin)
    sentence = refused(clone)
    assert name in sentence and update.UNHARMED in sentence


def test_without_a_network_nothing_changes(origin, clone):
    edit(clone, solve)
    shutil.move(origin, origin.with_name("away"))
    sentence = refused(clone)
    assert sentence.startswith("`git fetch` failed: ") and "does not appear to be a git" in sentence


def test_where_nothing_can_be_put_aside_nothing_changes(origin, clone):
    edit(clone, solve)
    release(origin)
    (clone / update.BACKUPS).write_text("a file")
    assert refused(clone).startswith(update.BACKUPS)


@pytest.mark.parametrize("fault", [KeyboardInterrupt, CourseError("git failed")])
def test_what_fails_in_the_middle_leaves_the_notebooks_as_they_were(
    origin, clone, monkeypatch, fault
):
    def forward(self: object, new: str) -> None:
        assert (clone / LAB).read_text() == git(clone, "show", f"HEAD:{LAB}") + "\n"
        raise fault

    edit(clone, solve)
    release(origin)
    before = state(clone)
    monkeypatch.setattr(update.Clone, "forward", forward)
    with pytest.raises((KeyboardInterrupt, CourseError)):
        update.main([])
    assert state(clone) == before


def test_commits_of_the_learners_are_left_to_git(origin, clone):
    edit(clone, solve)
    git(clone, "commit", "--all", "--message", "My answers")
    release(origin)
    sentence = refused(clone)
    assert sentence.startswith("This clone has 1 commit that origin/main lacks: ")
    assert "`git merge origin/main`" in sentence


def test_a_clone_that_is_ahead_is_the_newest(clone, capsys):
    edit(clone, solve)
    git(clone, "commit", "--all", "--message", "My answers")
    update.main([])
    assert capsys.readouterr().out.startswith("This is the newest version")


def test_a_detached_head_is_told_how_to_go_back(clone):
    git(clone, "checkout", "--quiet", "--detach")
    assert "`git switch main`" in refused(clone)


def test_a_branch_that_follows_no_other_is_told_so(clone):
    git(clone, "switch", "--quiet", "--create", "mine")
    sentence = refused(clone)
    assert sentence.startswith("The branch mine follows no other repository")
    assert "--set-upstream-to" in sentence


def test_in_a_hook_of_another_repository_it_is_still_this_clone(origin, clone, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(origin / ".git"))
    update.main([])  # `origin` itself has no upstream


def test_without_a_clone_or_git_one_sentence(clone, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "git is not installed" in refused_here()
    monkeypatch.setattr(update, "ROOT", tmp_path / "elsewhere")
    assert "is not a git clone" in refused_here()


def refused_here() -> str:
    with pytest.raises(CourseError) as error:
        update.main([])
    return str(error.value)
