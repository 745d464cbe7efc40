"""Write verdicts in formats for other programs: JSON, JUnit XML, and Gradescope's.

Gradescope's format: https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

import json
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from course.exercises import Outcome, Report, Result


def plain(reports: Sequence[Report]) -> str:
    """The verdicts as JSON: each exercise, and each check with its message, hint and output."""
    exercises = [
        {"exercise": report.exercise, "ok": report.ok, "judged": report.judged}
        | {"asked": len(report.check_names), "checks": report.as_dict()["results"]}
        for report in reports
    ]
    return _text({"ok": bool(reports) and all(r.ok for r in reports), "exercises": exercises})


def junit(reports: Iterable[Report], name: str) -> str:
    """The verdicts as JUnit XML: a suite for each exercise, in a report called `name`."""
    suites = ElementTree.Element("testsuites", name=name)
    for report in reports:
        failed, total = report.count(Outcome.FAILED), len(report.results)
        counts = {
            "tests": total,
            "failures": failed,
            "skipped": total - failed - report.passed_count,
        }
        suite = ElementTree.SubElement(
            suites, "testsuite", name=report.exercise, **{key: str(n) for key, n in counts.items()}
        )
        for result in report.results:
            about = {"classname": report.exercise, "name": result.claim}
            case = ElementTree.SubElement(suite, "testcase", about)
            if result.outcome == Outcome.FAILED:
                ElementTree.SubElement(case, "failure", message=result.message)
            elif result.outcome != Outcome.PASSED:
                ElementTree.SubElement(case, "skipped", message=result.message)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True)


def gradescope(reports: Sequence[Report]) -> str:
    """Gradescope's `results.json`: an exercise is worth one point, shared by its checks."""
    tests = [
        {
            "name": f"{report.exercise}: {result.claim}",
            "score": share if _passed(result) else 0.0,
            "max_score": share,
            "status": "passed" if _passed(result) else "failed",
            "output": _output(result),
            "visibility": "visible",
        }
        for report in reports
        for result, share in zip(report.results, _shares(len(report.results)), strict=True)
    ]
    return _text({"tests": tests, "output": "\n".join(report.verdict for report in reports)})


def _passed(result: Result) -> bool:
    return result.outcome == Outcome.PASSED


def _shares(checks: int) -> list[float]:
    """The points of each check of an exercise; the last one gets the remainder from rounding."""
    if checks == 0:
        return []
    share = round(1 / checks, 4)
    return [share] * (checks - 1) + [round(1 - share * (checks - 1), 4)]


def _output(result: Result) -> str:
    """The message and the hint of a check, for the learner."""
    hint = f"Hint: {result.hint}" if result.hint else ""
    return "\n".join(part for part in (result.message, hint) if part)


def _text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
