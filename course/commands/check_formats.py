"""The verdicts of `check` in the forms of other programs: plain JSON, Gradescope, Classroom 50.

Gradescope's form: https://gradescope-autograders.readthedocs.io/en/latest/specs/
Classroom 50's form, `classroom50/result/v1`:
https://github.com/foundation50/classroom50/wiki/Advanced-Autograding
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from course.core import CourseError
from course.exercises import Outcome, Report, Result

# What Classroom 50's runner tells an autograder in its environment, by the field it fills.
CLASSROOM = {
    "classroom": "CLASSROOM",
    "assignment": "ASSIGNMENT",
    "submission": "SUBMISSION_TAG",
    "commit": "COMMIT_URL",
    "release": "RELEASE_URL",
}


def plain(reports: Sequence[Report]) -> str:
    """Every exercise with its checks: claim, outcome, message, hint, and what was printed."""
    exercises = [
        {"exercise": report.exercise, "ok": report.ok, "judged": report.judged}
        | {"asked": len(report.asked), "checks": report.as_dict()["results"]}
        for report in reports
    ]
    return _text({"ok": bool(reports) and all(r.ok for r in reports), "exercises": exercises})


def gradescope(reports: Sequence[Report]) -> str:
    """Gradescope's `results.json`: an exercise is a point, which its checks share."""
    tests = [
        {
            "name": f"{report.exercise}: {result.claim}",
            "score": share if _holds(result) else 0.0,
            "max_score": share,
            "status": "passed" if _holds(result) else "failed",
            "output": _said(result),
            "visibility": "visible",
        }
        for report in reports
        for result, share in zip(report.results, _shares(len(report.results)), strict=True)
    ]
    return _text({"tests": tests, "output": "\n".join(report.verdict for report in reports)})


def classroom50(reports: Sequence[Report], environ: Mapping[str, str]) -> str:
    """Classroom 50's `result.json`: a point for each check that holds, since points are whole.

    `environ` is what its runner gives. Raises `CourseError` where that is missing.
    """
    if missing := [name for name in CLASSROOM.values() if name not in environ]:
        fix = "start this command from an autograder.py that Classroom 50 runs"
        raise CourseError(f"The environment has no {', '.join(missing)}: {fix}.")
    tests = [
        {
            "test-name": f"{report.exercise}: {result.claim}",
            "passed": _holds(result),
            "score": int(_holds(result)),
            "max-score": 1,
            "output": _said(result),
        }
        for report in reports
        for result in report.results
    ]
    result = {"schema": "classroom50/result/v1"}
    result |= {field: environ[name] for field, name in CLASSROOM.items()}
    result["review"] = environ.get("REVIEW_URL") or environ["COMMIT_URL"]
    result["datetime"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    result["score"] = sum(test["score"] for test in tests)
    result["max-score"] = len(tests)
    return _text(result | {"tests": tests})


def _holds(result: Result) -> bool:
    return result.outcome == Outcome.PASSED


def _shares(checks: int) -> list[float]:
    """What each check of an exercise is worth; the last one takes what rounding leaves."""
    if checks == 0:
        return []
    each = round(1 / checks, 4)
    return [each] * (checks - 1) + [round(1 - each * (checks - 1), 4)]


def _said(result: Result) -> str:
    """What a learner should read about a check that does not hold."""
    hint = f"Hint: {result.hint}" if result.hint else ""
    return "\n".join(part for part in (result.message, hint) if part)


def _text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
