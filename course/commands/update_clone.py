"""The git clone of the course: fetch, compare and restore files; errors quote git."""

import os
import subprocess
from pathlib import Path

from course.core import CourseError, words

# Git sets these for its hooks. With them, a command in another folder uses the wrong repository.
HOOK_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
NOTEBOOKS = ("labs/*.ipynb", "solutions/*.ipynb")
EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git's hash of the empty tree
UNHARMED = "Nothing of yours has changed."


class Clone:
    """The git clone at `root`; raises `CourseError` if there is none, or no git."""

    def __init__(self, root: Path) -> None:
        self.root = root
        if not (root / ".git").exists():
            raise CourseError(
                f"{root} is not a git clone, so there is nothing to update it from. Did you "
                "install the course with pip? Then install it again with `pip install --upgrade`."
            )
        self._branch = self._run("symbolic-ref", "--quiet", "--short", "HEAD")

    def fetch(self) -> tuple[str, str] | None:
        """Fetch, and return the commits of this version and of a newer one; None if there is none.

        Raises `CourseError` if git cannot fast-forward from one to the other.
        """
        if self._branch.returncode:
            raise CourseError(
                "This clone is not on a branch (git calls it a detached HEAD): go back to the "
                f"branch of the course with `git switch main`, and try again. {UNHARMED}"
            )
        branch = self._branch.stdout.strip()
        upstream = self._run("rev-parse", "--abbrev-ref", "@{upstream}").stdout.strip()
        if not upstream:
            raise CourseError(
                f"The branch {branch} follows no other repository: say which with "
                f"`git branch --set-upstream-to origin/main`, and try again. {UNHARMED}"
            )
        self.git("fetch", "--quiet")
        old, new = self.git("rev-parse", "HEAD", "@{upstream}").split()
        if self._is_ancestor(new, old):
            return None
        if not self._is_ancestor(old, new):
            ahead = words.plural(int(self.git("rev-list", "--count", f"{new}..{old}")), "commit")
            raise CourseError(
                f"This clone has {ahead} that {upstream} lacks: commit your other changes, too, "
                f"then merge the new version with `git merge {upstream}`. {UNHARMED}"
            )
        return old, new

    def edited(self) -> list[str]:
        """The files of the course that differ from the last commit."""
        return self._names("diff", "HEAD")

    def edited_notebooks(self) -> list[str]:
        """The notebooks of the last commit that were changed or deleted."""
        return self._names("diff", "--diff-filter=DMT", "HEAD", "--", *NOTEBOOKS)

    def unedited(self, pattern: str) -> list[str]:
        """The files that match `pattern` and are the same as in the last commit."""
        committed_files = self._names("diff", EMPTY, "HEAD", "--", pattern)
        return sorted({*committed_files}.difference(self.edited()))

    def coming(self, old: str, new: str) -> list[str]:
        """The files that differ between two commits."""
        return self._names("diff", old, new)

    def restore(self, paths: list[str]) -> None:
        """Restore files to their state in the last commit."""
        self.git("checkout", "--quiet", "HEAD", "--", *paths)

    def forward(self, new: str) -> None:
        """Fast-forward to `new`; raises `CourseError` if a file of the learner's is in the way."""
        self.git("merge", "--quiet", "--ff-only", "--no-overwrite-ignore", new)

    def committed(self, path: str, commit: str) -> str:
        """The text of a file in a commit."""
        return self.git("show", f"{commit}:{path}")

    def date(self) -> str:
        """The date of the last commit, such as '2026-11-22'."""
        return self.git("log", "-1", "--format=%cs").strip()

    def git(self, *arguments: str) -> str:
        """Run a git command and return its output; raises `CourseError` with git's message."""
        done = self._run(*arguments)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if not line.startswith("hint:")]
            why = " ".join(" ".join(lines).split())
            raise CourseError(f"`git {arguments[0]}` failed: {why} {UNHARMED}")
        return done.stdout

    def _names(self, *arguments: str) -> list[str]:
        command, *rest = arguments
        text = self.git(command, "--name-only", "--no-renames", "-z", *rest)
        return text.split("\0")[:-1]

    def _is_ancestor(self, old: str, new: str) -> bool:
        return self._run("merge-base", "--is-ancestor", old, new).returncode == 0

    def _run(self, *arguments: str) -> subprocess.CompletedProcess:
        env = {name: value for name, value in os.environ.items() if name not in HOOK_VARIABLES}
        try:
            return subprocess.run(
                ["git", "-C", self.root, *arguments],
                env=env | {"LC_ALL": "C"},
                capture_output=True,
                encoding="utf-8",
                errors="replace",
            )
        except FileNotFoundError:
            raise CourseError(
                "git is not installed here, and it fetches the new version."
            ) from None
