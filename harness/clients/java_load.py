"""A producer in the background with a fixed rate, until it is stopped."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from contract.outcomes import Outcome
from harness.clients.commands import Counts, StartProducer
from harness.clients.history import HistoryWriter
from harness.clients.java_producer import open_producer, settings_of
from harness.clients.java_sends import Sends, answer_of

_TICK_SECONDS = 0.01
_LATE_SECONDS = 1.0
_REQUEST_TIMEOUT_MS = 10_000


@dataclass(frozen=True)
class _Batch:
    """The sends of one tick to one partition."""

    sends: Sends
    futures: list[Any]

    def is_done(self) -> bool:
        return all(future.isDone() for future in self.futures)


class SteadyProducer:
    """One `KafkaProducer` and its thread.

    Outcomes are polled once a tick, so an acknowledgement is recorded about ten milliseconds after
    its arrival at most. A producer that can't keep up skips ticks, and does not catch up by bursts.
    """

    def __init__(self, command: StartProducer, *, bootstrap: str, history: HistoryWriter) -> None:
        """Open the producer and begin to send."""
        self._command = command
        self._history = history
        self._counts = {partition: Counter[Outcome]() for partition in command.partitions}
        self._waiting: dict[int, deque[_Batch]] = {p: deque() for p in command.partitions}
        self._next_sequence = 0
        self._producer = open_producer(
            command.producer,
            bootstrap=bootstrap,
            settings={
                "acks": command.acks,
                "delivery.timeout.ms": str(command.delivery_timeout_ms),
                "request.timeout.ms": str(_REQUEST_TIMEOUT_MS),
                "max.block.ms": str(_REQUEST_TIMEOUT_MS),
            },
        )
        self._settings = settings_of(self._producer)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def counts(self) -> Counts:
        """Return the number of values with each outcome so far, by partition."""
        return {
            str(partition): {str(outcome): count for outcome, count in counts.items()}
            for partition, counts in self._counts.items()
        }

    def stop(self) -> Counts:
        """Stop sending, wait for every outcome and close the producer."""
        self._stop.set()
        self._thread.join()
        self._producer.flush()
        self._reap(lambda _: True)
        self._producer.close()
        return self.counts()

    def _run(self) -> None:
        partitions = cycle(self._command.partitions)
        began, owed = time.monotonic(), 0.0
        while not self._stop.wait(max(0.0, began + _TICK_SECONDS - time.monotonic())):
            lag = time.monotonic() - began - _TICK_SECONDS
            began = began + _TICK_SECONDS if lag < _LATE_SECONDS else time.monotonic()
            owed += self._command.records_per_second * _TICK_SECONDS
            if owed >= 1:
                self._send(next(partitions), int(owed))
                owed -= int(owed)
            self._reap(_Batch.is_done)

    def _send(self, partition: int, count: int) -> None:
        sends = Sends(
            producer=self._command.producer,
            topic=self._command.topic,
            partition=partition,
            acks=self._command.acks,
            sequences=range(self._next_sequence, self._next_sequence + count),
            settings=self._settings,
        )
        self._next_sequence += count
        sends.intend(self._history)
        futures = [self._producer.send(record) for record in sends.records()]
        self._waiting[partition].append(_Batch(sends, futures))

    def _reap(self, is_ready: Callable[[_Batch], bool]) -> None:
        """Record the outcomes of completed batches, in order within each partition."""
        for partition, waiting in self._waiting.items():
            while waiting and is_ready(waiting[0]):
                batch = waiting.popleft()
                self._counts[partition].update(
                    batch.sends.record_outcomes(batch.futures, self._history, answer=answer_of)
                )
