"""The phases of a run: reported, and written to the history."""

from contextlib import ExitStack

from cluster.reports import report
from contract.events import PhaseEntered, encodable
from contract.terms import BY_HAND, HUNG_AFTER, PHASE_LIMIT_SECONDS, Stage
from contract.waiting import limit_waits
from harness.clients.history import HistoryWriter

PREFIX = "fencepost-phase: "
_END_SECONDS = 30
"""What a story has to end by itself, before its phase counts as one that hangs."""


class Phases:
    """Reports each phase as it begins; it ends when the next one begins, or with the history.

    No wait goes on until its phase counts as one that hangs: then the run would be stopped without
    its servers' files, and without the state that was awaited.
    """

    def __init__(self, history: HistoryWriter) -> None:
        """Start before the first phase."""
        self._history = history
        self._limit = ExitStack()

    def enter(self, stage: Stage, doing: str) -> None:
        """Begin a phase of a stage."""
        self.end()
        if doing != BY_HAND:
            seconds = HUNG_AFTER * PHASE_LIMIT_SECONDS[stage] - _END_SECONDS
            self._limit.enter_context(limit_waits(seconds))
        report(f"{PREFIX}{stage}: {encodable(doing)}")
        self._history.write(PhaseEntered, stage=stage, doing=doing)

    def end(self) -> None:
        """End the last phase: no wait is limited by it any more."""
        self._limit.close()
