"""DescribeQuorum to single controllers, once or over and over, each written to the history."""

import threading
import time
from typing import Any

import msgspec

from contract.events import QuorumSampled
from harness.clients.history import HistoryWriter
from harness.clients.quorum_commands import DescribeQuorum, QuorumState, WatchQuorum
from harness.clients.views import quorum_seen_by
from harness.wire.request import Broker


class QuorumSampling:
    """Samples the metadata quorum for an observer."""

    def __init__(self, history: HistoryWriter, ending: threading.Event) -> None:
        """Sample until `ending` is set."""
        self._history = history
        self._ending = ending

    def describe(self, command: DescribeQuorum) -> Any:
        """Query one controller; its state as plain values, None if it does not lead."""
        state = self._sample(command.server, Broker(command.address, command.port))
        return msgspec.to_builtins(state)

    def watchers(self, command: WatchQuorum) -> list[threading.Thread]:
        """Return one thread for each controller; they are not started."""
        return [
            threading.Thread(
                target=self._watch, args=(server, Broker(address, port), command.interval_ms)
            )
            for server, address, port in command.controllers
        ]

    def _watch(self, server: int, controller: Broker, interval_ms: int) -> None:
        while not self._ending.wait(interval_ms / 1000):
            self._sample(server, controller)

    def _sample(self, server: int, controller: Broker) -> QuorumState | None:
        asked_micros = time.time_ns() // 1000
        try:
            state = quorum_seen_by(controller)
        except OSError:
            return None
        if state is not None:
            self._history.write(
                QuorumSampled,
                server=server,
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                high_watermark=state.high_watermark,
                voters=list(state.log_ends),
                log_ends=list(state.log_ends.values()),
                observers=state.observers,
                asked_micros=asked_micros,
            )
        return state
