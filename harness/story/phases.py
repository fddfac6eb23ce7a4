"""The phases of a run: reported, and written to the history."""

from cluster.reports import report
from contract.events import PhaseEntered, encodable
from contract.terms import Stage
from harness.clients.history import HistoryWriter

PREFIX = "fencepost-phase: "


class Phases:
    """Reports each phase as it begins; it ends when the next one begins, or with the history."""

    def __init__(self, history: HistoryWriter) -> None:
        """Start before the first phase."""
        self._history = history

    def enter(self, stage: Stage, doing: str) -> None:
        """Begin a phase of a stage."""
        report(f"{PREFIX}{stage}: {encodable(doing)}")
        self._history.write(PhaseEntered, stage=stage, doing=doing)
