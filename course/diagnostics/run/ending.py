"""Describe how a run ended, where its ranks stood, and why."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from course.core import words
from course.diagnostics.finding import Finding
from course.diagnostics.run import causes, failures, hangs, progress
from course.diagnostics.run.thresholds import WORKING_BELOW_S
from course.diagnostics.watch.rank_states import RankState

# How a run ended.
ITSELF, HUNG, LIMIT, INTERRUPTED = "by itself", "hang", "limit", "interrupted"
STOPPED = "stopped"  # enough was seen, or another command has ended the run


@dataclass(frozen=True)
class RunEnding:
    """How a run `ended`, with its exit `code`, which is None if the course ended it.

    `lead` is a sentence on that, and `ranks` has a line of text for each rank. If the run
    hangs, `waits_in` has the call in which each rank waited.
    """

    ended: str
    code: int | None = None
    lead: str = ""
    ranks: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    waits_in: dict[int, str] = field(default_factory=dict)

    @property
    def faults(self) -> list[Finding]:
        """The findings that are not notes."""
        return [finding for finding in self.findings if not finding.note]

    def plain(self) -> dict[str, object]:
        """Return a dict for JSON, without the findings."""
        ranks = [line.strip() for line in self.ranks]
        return {"ended": self.ended, "exit_code": self.code, "ranks": ranks}


def ending_of(
    ranks: Sequence[RankState], ended: str, code: int | None, seconds: float, hung_after_s: float
) -> RunEnding:
    """Describe a run that has ended with exit `code`, or is being ended after `seconds`.

    `ended` is one of the constants above. Ranks that have not moved for `hung_after_s` seconds are
    taken to hang.
    """
    if ended == ITSELF:
        return _by_itself(ranks, code or 0)
    if ended == STOPPED:
        return RunEnding(ended)
    lead = {
        HUNG: "The run was ended.",
        LIMIT: f"The limit of {seconds:g} s ended the run.",
        INTERRUPTED: f"Interrupted after {words.duration(seconds)}.",
    }[ended]
    if not ranks:
        return RunEnding(ended, lead=f"{lead} No rank has been seen.")
    stalled_s = progress.stalled_s(ranks)
    if ended != HUNG and stalled_s < WORKING_BELOW_S:
        lead = f"{lead} The ranks were still working:"
        return RunEnding(ended, lead=lead, ranks=progress.working(ranks))
    if ended != HUNG and stalled_s < hung_after_s:
        lead = f"{lead} It is too early to say whether the ranks hang:"
        return RunEnding(ended, lead=lead, ranks=progress.working(ranks))
    lead = (
        f"{lead} No rank has moved for {words.duration(round(stalled_s))}. Where the ranks stood:"
    )
    lines, calls = progress.lines(ranks), progress.waits_in(ranks)
    findings = _hang_findings(ranks)
    return RunEnding(ended, lead=lead, ranks=lines, findings=findings, waits_in=calls)


def _hang_findings(ranks: Sequence[RankState]) -> list[Finding]:
    """Find why the ranks wait; add a note if ranks of other machines cannot be seen."""
    findings = hangs.findings(ranks)
    world = max(state.snapshot.world for state in ranks)
    joining = any(finding.what == causes.NOT_JOINED.name for finding in findings)
    if world > len(ranks) and findings and not joining:
        says = f"Only {len(ranks)} of {world} ranks are seen from here: the others may be why."
        findings.append(causes.UNSEEN_RANKS.finding(says, note=True))
    return findings


def _by_itself(ranks: Sequence[RankState], code: int) -> RunEnding:
    if not code:
        return RunEnding(ITSELF, 0)
    findings = failures.findings(ranks)
    several = progress.lines(ranks) if len(ranks) > 1 else []
    return RunEnding(ITSELF, code, f"The run failed with exit code {code}.", several, findings)
