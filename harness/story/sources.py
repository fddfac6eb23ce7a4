"""From which brokers members receive their records, by the bytes of their connections."""

from collections import ChainMap
from collections.abc import Mapping

from harness.clients.java_worker import JavaRole
from harness.clients.observer import Observer
from harness.story.consumers import Consumers

_BYTES_MIN = 20_000
"""Of a window: much more than the metadata and the empty responses of a second."""
_SHARE_MIN = 0.9
_READ_SECONDS = 60

Received = dict[str, dict[int, int]]
"""By member and broker: bytes."""


class Window:
    """The bytes that a member received from each broker since the window began."""

    def __init__(self, source: int) -> None:
        """Start without a count; `source` is the broker that it should read from."""
        self._source = source
        self._began: dict[int, int] | None = None

    def is_source(self, received: Mapping[int, int]) -> bool:
        """Return whether nearly all bytes of the window are the source's.

        A window with enough bytes, but from others too, ends; the next one begins.
        """
        if self._began is None:
            self._began = dict(received)
        began = self._began
        gained = {broker: count - began.get(broker, 0) for broker, count in received.items()}
        total = sum(gained.values())
        if total < _BYTES_MIN:
            return False
        self._began = dict(received)
        return gained.get(self._source, 0) >= _SHARE_MIN * total


class Sources:
    """Waits until members read from certain brokers (KIP-392)."""

    def __init__(self, consumers: Consumers, observer: Observer) -> None:
        """Query the workers of the members, and record waits with the observer."""
        self._consumers = consumers
        self._observer = observer

    def await_source(self, sources: Mapping[str, int]) -> None:
        """Wait until each member receives at least nine tenths of its bytes from its broker.

        The members are open, of Java clients, and read records meanwhile.

        Raises:
            WaitTimeoutError: one does not; shows the bytes received from each broker.
        """
        windows = {member: Window(source) for member, source in sources.items()}
        last: Received = {}

        def probe() -> bool:
            last.update(self._received(list(windows)))
            for member in [one for one, window in windows.items() if window.is_source(last[one])]:
                del windows[member]
            return not windows

        of = ", ".join(f"{member} from broker {source}" for member, source in sources.items())
        self._observer.await_that(
            probe,
            what=f"members to receive records: {of}",
            timeout_seconds=_READ_SECONDS,
            last_seen=lambda: {member: last.get(member) for member in windows},
        )

    def _received(self, members: list[str]) -> Received:
        if not members:
            return {}
        brokers = self._observer.kafka.topology.broker_ids
        answers = self._consumers.call(
            members, lambda share: JavaRole.count_received(share, brokers=brokers)
        )
        return dict(ChainMap(*answers))
