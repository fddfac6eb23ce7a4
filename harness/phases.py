"""What a run is doing now, told on standard output for whoever watches."""

import time

PREFIX = "fencepost-phase: "


class Phases:
    """Tells each phase as it begins, and how long the one before it took."""

    def __init__(self) -> None:
        """No phase yet."""
        self._name: str | None = None
        self._began = time.monotonic()

    def enter(self, name: str) -> None:
        """Begin a phase; the one before it ends."""
        self.leave()
        self._name, self._began = name, time.monotonic()
        print(f"{PREFIX}{name}", flush=True)

    def leave(self) -> None:
        """End the current phase, if any."""
        if self._name is not None:
            print(f"{self._name}: {time.monotonic() - self._began:.1f} s", flush=True)
        self._name = None
