"""``python -m course grade``: the checks of a whole class, as pages, tables and points."""

import argparse
import json
import os
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from course.checks import Report, check, exercises, node_of
from course.commands import grade_pages
from course.commands.grade_submissions import Submission, alike, collect
from course.core import ROOT, CourseError, write_whole
from course.hardware import bubblewrap
from course.launch import warm_up

Verdicts = dict[str, list[dict]]  # by exercise, what became of each check


def main(argv: Sequence[str]) -> int:
    """Grade a folder of submissions; 0 if all could be read, 1 if not."""
    parser = argparse.ArgumentParser(
        prog="python -m course grade",
        description="Check the scripts of a class. Without --isolated their code runs with your "
        "rights.",
    )
    parser.add_argument(
        "submissions", type=Path, help="a folder with a folder, zip or notebook for each learner"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where results go")
    parser.add_argument(
        "--weights", type=Path, metavar="FILE", help="points of exercises, as in `ring = 2` (TOML)"
    )
    parser.add_argument("--names", nargs="+", metavar="NAME", help="only these exercises")
    parser.add_argument(
        "--jobs",
        type=int,
        default=max(1, (os.cpu_count() or 1) // 4),
        metavar="N",
        help="checks at a time (default: one for every four cores)",
    )
    parser.add_argument(
        "--isolated",
        action="store_true",
        help="shut each learner's code in: it sees its folder, no other files and no network",
    )
    args = parser.parse_args(argv)
    if args.isolated:
        bubblewrap.require()
    if not args.submissions.is_dir():
        raise CourseError(f"There is no folder {args.submissions}: name the one with submissions.")
    points = weights(args.weights)
    wanted = args.names or list(exercises())
    for name in wanted:
        node_of(name)  # raises for a name that is none
    if args.jobs < 1:
        raise CourseError("--jobs takes a number above 0.")
    warm_up()
    found = collect(args.submissions, args.out / "work")
    verdicts = judge(found, wanted, args.out / "verdicts", args.jobs, args.isolated)
    reports = {
        learner: [Report(name, results) for name, results in by_exercise.items()]
        for learner, by_exercise in verdicts.items()
    }
    same = alike(found, handed_out())
    grade_pages.write(args.out, found, reports, points, same)
    print(f"The class is in {args.out / 'index.html'}, its points in {args.out / 'grades.csv'}.")
    return 1 if any(submission.problem for submission in found) else 0


def weights(path: Path | None) -> dict[str, float]:
    """The points of each exercise: 1, or what the file says."""
    points = dict.fromkeys(exercises(), 1.0)
    if path is None:
        return points
    try:
        given = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise CourseError(f"The weights in {path} cannot be read: {error}.") from None
    for name, value in given.items():
        if name not in points or not isinstance(value, int | float) or value < 0:
            raise CourseError(f"{path}: {name} = {value} is not an exercise and its points.")
    return points | given


def handed_out() -> dict[str, str]:
    """The scripts of the exercises as learners get them."""
    from course.lessons import lessons  # imports jupytext, which takes its time

    return {
        Path(target).stem: text
        for lesson in lessons(ROOT)
        for target, text in lesson.scripts(solved=False).items()
    }


def judge(
    submissions: Sequence[Submission],
    wanted: Sequence[str],
    folder: Path,
    jobs: int,
    isolated: bool,
) -> dict[str, Verdicts]:
    """The verdicts by learner. They are kept in the folder, and made again for changed scripts."""
    verdicts: dict[str, Verdicts] = {submission.learner: {} for submission in submissions}
    with ThreadPoolExecutor(jobs) as pool:
        under_way = {
            pool.submit(_verdict, submission, name, folder, isolated): (submission.learner, name)
            for submission in submissions
            for name in submission.exercises
            if name in wanted
        }
        for number, future in enumerate(as_completed(under_way), 1):
            learner, name = under_way[future]
            verdicts[learner][name] = future.result()
            print(f"{number} of {len(under_way)}: {learner}, {name}", flush=True)
    order = list(exercises())
    return {
        learner: dict(sorted(by_name.items(), key=lambda item: order.index(item[0])))
        for learner, by_name in verdicts.items()
    }


def _verdict(submission: Submission, name: str, folder: Path, isolated: bool) -> list[dict]:
    """What the checks of one exercise say; asked for again only if the scripts have changed.

    A verdict that was found without isolation does not count where isolation is wanted.
    """
    path = folder / submission.learner / f"{name}.json"
    judged = {"digest": submission.digest(), "isolated": isolated}
    if path.is_file():
        kept = json.loads(path.read_text())
        if kept | judged == kept:
            return kept["results"]
    try:
        results = check(name, src=str(submission.src.resolve()), isolated=isolated).results
    except CourseError as error:
        results = [{"claim": "The checks ran.", "outcome": "failed", "message": str(error)}]
        return [dict.fromkeys(("check", "hint", "printed"), "") | results[0]]
    write_whole(path, json.dumps(judged | {"results": results}, indent=1))
    return results
