"""Detect checkpoints that keep the ranks waiting."""

from course.diagnostics.finding import CauseInfo
from course.diagnostics.why.cause import OwnWork


class Saving(OwnWork):
    """Ranks write checkpoints, or wait for a rank that writes one."""

    info = CauseInfo("saving", "ranks wait while one saves", lab="10c")
    kind = "saving"
    aspect = "saving"

    @property
    def seen(self) -> str:
        """Half a sentence on which ranks save."""
        return "all ranks save" if self.rank is None else self.info.summary

    @property
    def cure(self) -> str:
        """Depends on how the script saves now."""
        if self.breakdown.script.async_save:
            return "It is done in the background already, so save less often."
        own = "" if self.rank is None else "each rank its own part, or "
        return (
            f"Save less often, {own}in the background (`torch.distributed.checkpoint.async_save`)."
        )
