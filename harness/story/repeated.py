"""A step of a story that is repeated in the background while faults are injected."""

from collections.abc import Callable
from threading import Event, Thread
from types import TracebackType
from typing import Self

from harness.clients.observer import Observer

_ROUND_SECONDS = 120


class Repeated:
    """Repeats a step in a thread until the end of a `with` block.

    The block must not use the workers that the step uses. An error of the step ends the repetition
    and is raised by `await_more`, and at the end of the block.
    """

    def __init__(self, step: Callable[[], None], *, observer: Observer, what: str) -> None:
        """`what` names a repetition in words."""
        self._step = step
        self._observer = observer
        self._what = what
        self._is_over = Event()
        self._error: BaseException | None = None
        self._thread = Thread(target=self._repeat, name=what)
        self.rounds = 0

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait until the last repetition is done."""
        self._is_over.set()
        self._thread.join()
        if error is None:
            self._raise()

    def await_more(self, rounds: int) -> None:
        """Wait until the step was done this many times more.

        Raises:
            WaitTimeoutError: it was not.
        """
        before = self.rounds

        def is_done() -> bool:
            self._raise()
            return self.rounds >= before + rounds

        self._observer.await_that(
            is_done,
            what=f"{rounds} more times: {self._what}",
            timeout_seconds=_ROUND_SECONDS,
            last_seen=lambda: self.rounds,
        )

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _repeat(self) -> None:
        try:
            while not self._is_over.is_set():
                self._step()
                self.rounds += 1
        except BaseException as error:  # noqa: BLE001 - raised in the block's thread
            self._error = error
