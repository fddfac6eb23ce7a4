"""The phases of a run: printed on standard output, and written to the history."""

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
        print(f"{PREFIX}{stage}: {encodable(doing)}", flush=True)
        self._history.write(PhaseEntered, stage=stage, doing=doing)
