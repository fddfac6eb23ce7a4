"""What a run is doing now: told on standard output for whoever watches, and kept in the history."""

from contract.events import PhaseEntered
from contract.stages import Stage
from harness.clients.history import HistoryWriter

PREFIX = "fencepost-phase: "


class Phases:
    """Tells each phase as it begins; it ends where the next one begins, or the history."""

    def __init__(self, history: HistoryWriter) -> None:
        """No phase yet."""
        self._history = history

    def enter(self, stage: Stage, doing: str) -> None:
        """Begin a phase of a stage."""
        print(f"{PREFIX}{stage}: {doing}", flush=True)
        self._history.write(PhaseEntered, stage=stage, doing=doing)
