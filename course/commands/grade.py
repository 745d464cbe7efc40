"""``python -m course grade``: check a whole class, and write pages, tables and points."""

import argparse
import os
import tomllib
from collections.abc import Sequence
from pathlib import Path

from course.checks import digest
from course.commands import check_formats
from course.commands.check import NOT_JUDGED
from course.commands.grading import class_page, comments, feedback_page, guesses_page, roster
from course.commands.grading.alike import Group, alike
from course.commands.grading.formats import read_time
from course.commands.grading.gradebook import NO_COMMENT, Gradebook, GradebookLine, days_late
from course.commands.grading.names import file_name
from course.commands.grading.roster import Roster
from course.commands.grading.submissions import MARK, Submission, collect
from course.commands.grading.suspicions import suspicions
from course.commands.grading.verdicts import Judge
from course.core import CourseError, words, write_atomically
from course.exercises import exercise, exercises
from course.hardware import isolation
from course.launch import warm_up

MAX_DOUBTS = 5  # suspicious lines listed per submission
WORK, ROSTER = "work", "roster.csv"
# What every run writes, in place of the results of an earlier one.
RESULTS = ("index.html", "grades.csv", "guesses.html", "feedback", "junit", "verdicts", ROSTER)


def main(argv: Sequence[str]) -> int:
    """Grade a folder of submissions.

    Return 0 if everything was read and judged, 1 if something could not be read, and 3 if something
    was not judged, for example because of an interrupt.
    """
    args = _parser().parse_args(argv)
    _refuse(args)
    names = selected(args.lab, args.names)
    points = weights(args.weights, names)
    due = read_time(args.due or "")
    known = roster.read(args.roster) if args.roster else None
    submissions = collect(args.submissions, args.out / WORK, known)
    learners = [submission.learner for submission in submissions]
    remarks = comments.read(args.out / "comments.toml", learners, names)
    _write_guesses(args.out / "guesses.html", submissions, args.lab)
    if args.trust:
        warm_up()
    judge = Judge(args.out / "verdicts", digest(), not args.trust, args.minutes)
    verdicts = judge.judge(submissions, names, args.jobs)
    lines = []
    for submission in submissions:
        comment = remarks.get(submission.learner, NO_COMMENT)
        lines.append(
            GradebookLine(
                submission=submission,
                weights=points,
                reports=verdicts[submission.learner],
                comment=comment,
                doubts=doubts(submission, names),
                late=days_late(submission, due) if comment.late is None else comment.late,
                percent=args.late_percent,
            )
        )
    book = Gradebook(lines, points, _alike(submissions, names))
    _write(args.out, book)
    if known:
        _write_back(args.out, book, known, args.column)
    if any(line.not_judged for line in lines):
        return NOT_JUDGED
    return 1 if any(line.submission.problem for line in lines) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m course grade",
        description="Check the scripts of a class. Their code is sandboxed: it sees its folder, no "
        "other files and no network.",
    )
    add = parser.add_argument
    add("submissions", type=Path, help="a folder with a folder, archive or file for each learner")
    add(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="where results go, in place of an earlier run's; your comments.toml there stays",
    )
    add("--lab", nargs="+", default=[], metavar="NN", help="only these labs, such as 02 04b")
    add("--names", nargs="+", metavar="NAME", help="only these exercises")
    add("--weights", type=Path, metavar="FILE", help="points of exercises, as `ring = 2` (TOML)")
    add("--roster", type=Path, metavar="FILE", help="who is in the class (CSV)")
    add("--column", metavar="TITLE", help="the column of the roster that gets the points")
    add("--due", metavar="TIME", help="when it was due, such as 2026-11-20T18:00")
    add("--late-percent", type=float, default=0, metavar="P", help="lost for each day late")
    add(
        "--jobs",
        type=int,
        default=max(1, (os.cpu_count() or 1) // 4),
        metavar="N",
        help="learners at a time (default: one for every four cores)",
    )
    add(
        "--minutes",
        type=float,
        default=30,
        metavar="M",
        help="for all checks of one learner (default: 30)",
    )
    add("--trust", action="store_true", help="run their code with your rights, not sandboxed")
    return parser


def _refuse(args: argparse.Namespace) -> None:
    """Raise `CourseError` for options that contradict each other or cannot be followed."""
    if not args.submissions.is_dir():
        fix = "name the one with submissions, and unpack it if it is an archive"
        raise CourseError(f"There is no folder {args.submissions}: {fix}.")
    if args.out.resolve().is_relative_to(args.submissions.resolve()):
        raise CourseError(f"{args.out} lies among the submissions: name a folder elsewhere.")
    _refuse_to_replace(args.out, args.roster)
    if args.jobs < 1 or not args.minutes > 0:
        raise CourseError("--jobs and --minutes take numbers above 0.")
    if not 0 <= args.late_percent <= 100:
        raise CourseError("--late-percent takes a number from 0 to 100.")
    if not args.trust and (why := isolation.missing()):
        raise CourseError(
            f"Nothing was run, since learners' code cannot be isolated here: {why}. With --trust "
            "it runs with your rights, and can read and change whatever you can."
        )


def _refuse_to_replace(out: Path, given: Path | None) -> None:
    """Raise `CourseError` if the results would overwrite anything but earlier results."""
    if given and given.resolve() == (out / ROSTER).resolve():
        raise CourseError(f"The points would be written over {given}: copy it elsewhere first.")
    existing = [name for name in RESULTS if (out / name).exists()]
    if existing and not MARK.is_on(out / WORK):
        raise CourseError(
            f"{out / existing[0]} is there and is not a result of this command: give another "
            "folder to --out."
        )


def selected(labs: Sequence[str], names: Sequence[str] | None) -> list[str]:
    """The requested exercises, in the order of the labs; all if neither is given.

    Raises `CourseError` for an unknown lab or exercise.
    """
    known = exercises()
    if not (labs or names):
        return list(known)
    existing = dict.fromkeys(entry.lab for entry in known.values())
    if unknown := [lab for lab in labs if lab not in existing]:
        raise CourseError(f"There is no lab {unknown[0]!r} with exercises: {', '.join(existing)}.")
    chosen = {exercise(name).name for name in names or []}
    return [name for name, entry in known.items() if name in chosen or entry.lab in labs]


def weights(path: Path | None, names: Sequence[str]) -> dict[str, float]:
    """The points of each requested exercise: 1, or the number in the TOML file.

    Raises `CourseError` if the file cannot be read, or if an entry is not an exercise and its
    points.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")) if path else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CourseError(f"The weights in {path} cannot be read: {error}.") from None
    for name, value in table.items():
        if name not in exercises() or not comments.is_points(value):
            raise CourseError(f"{path}: {name} = {value} is not an exercise and its points.")
    return {name: table.get(name, 1.0) for name in names}


def doubts(submission: Submission, names: Sequence[str]) -> list[str]:
    """Sentences about suspicious lines of a submission: `MAX_DOUBTS` at most, then a count."""
    lines = [
        f"{name}.py: {sentence[0].lower()}{sentence[1:].rstrip('.')}"
        for name in submission.exercises
        if name in names
        for sentence in suspicions(submission.text(name))
    ]
    more = [f"and {words.plural(len(lines) - MAX_DOUBTS, 'more line')} to look at"]
    return lines if len(lines) <= MAX_DOUBTS else lines[:MAX_DOUBTS] + more


def _alike(submissions: Sequence[Submission], names: Sequence[str]) -> list[Group]:
    written = {name for submission in submissions for name in submission.exercises}
    selection = [exercises()[name] for name in names if name in written]
    return alike(
        submissions,
        handed_out={entry.name: entry.script(solved=False) for entry in selection},
        solved={entry.name: entry.script(solved=True) for entry in selection},
    )


def _write_guesses(path: Path, submissions: Sequence[Submission], labs: Sequence[str]) -> None:
    """Write the page of guesses; it needs no checks, so a class can look at it meanwhile."""
    write_atomically(path, guesses_page.page(submissions, labs))
    print(f"What the room expected and measured is in {path}. Now come the checks.", flush=True)


def _write(out: Path, book: Gradebook) -> None:
    """Write the pages and tables, and say where they are."""
    write_atomically(out / "index.html", class_page.page(book))
    write_atomically(out / "grades.csv", book.as_csv())
    for line in book.lines:
        name = file_name(line.learner)
        write_atomically(out / "feedback" / f"{name}.html", feedback_page.page(line))
        junit = check_formats.junit(line.reports.values(), line.learner)
        write_atomically(out / "junit" / f"{name}.xml", junit)
    print(f"The class is in {out / 'index.html'}, its points in {out / 'grades.csv'}.")
    if missing := sum(len(line.not_judged) for line in book.lines):
        print(
            f"{words.plural(missing, 'exercise')} not judged: run the command again, and it "
            "checks only what has not been judged."
        )


def _write_back(out: Path, book: Gradebook, known: Roster, column: str | None) -> None:
    """Write the roster with the points of the learners whose exercises are all judged."""
    points = {
        line.submission.person.row: round(line.total, 4)
        for line in book.lines
        if line.submission.person and not line.not_judged
    }
    write_atomically(out / ROSTER, known.with_points(points, column))
    print(f"The roster with the points is in {out / ROSTER}.")
