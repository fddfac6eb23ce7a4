"""Let a topic's records expire: by time, by size or by request; healed by the old settings."""

import enum
from collections.abc import Callable

from contract.errors import FaultError
from contract.run_folder import TopicPlan
from contract.terms import FaultTarget, TargetKind
from harness.clients.observer_worker import ObserverRole
from harness.clients.views import PartitionState
from harness.faults.fault import Evidence, Fault, Field

_ROLL_MS = "500"
_BYTES_KEPT = str(64 << 10)
_SEGMENT_KEPT = "1"
"""Less than any segment has: all but the last one are deleted."""
_READ_MEANWHILE = 500
"""After this many more records, a reader that keeps up has read the records to be deleted."""

_UNBOUNDED = "-1"


class By(enum.StrEnum):
    """The cause of deletion.

    time: `retention.ms`; size: `retention.bytes`; order: the DeleteRecords request.
    """

    TIME = "time"
    SIZE = "size"
    ORDER = "order"


_UNEXPIRING = {"retention.ms": _UNBOUNDED, "retention.bytes": _UNBOUNDED}

EXPIRING_TOPIC = {"segment.ms": _ROLL_MS, **_UNEXPIRING}
"""Settings with which a topic is created so that its segments can expire within seconds: a segment
is rolled by the first append after half a second, and only rolled segments expire by size."""


class Expire(Fault):
    """The log start of every partition passes an offset that was within the log before."""

    def __init__(self, topic: TopicPlan, by: By, *, up_to: int | None = None) -> None:
        """The topic must have been created with EXPIRING_TOPIC, and be written to all the time.

        By time, records expire by the `retention_ms` of the topic's plan, as the analysis assumes.

        `up_to`: instead of passing its earlier log end, each log starts at exactly this offset.
        Such a topic need not be written to. By size one segment is kept, which must begin there; by
        time all records expire.

        Raises:
            FaultError: records are to expire by time, and the plan has none.
        """
        if by is By.TIME and topic.retention_ms is None:
            raise FaultError(f"the plan of topic {topic.topic} has no retention_ms to expire by")
        self.verb, self.is_instant = f"expire by {by}", by is By.ORDER
        self.target = FaultTarget(target_kind=TargetKind.TOPIC, topic=topic.topic)
        self._topic, self._by, self._up_to = topic, by, up_to
        self._before: dict[int, PartitionState] = {}

    def prepare(self, field: Field) -> None:
        """Note the current log ends; for DeleteRecords, wait until readers are past them."""
        self._before = self._await(
            field, lambda state: state.log_end_offset >= 0, what="to report their bounds"
        )
        if self._by is By.ORDER:
            self._await(
                field,
                lambda state: (
                    state.log_end_offset
                    >= self._before[state.partition].log_end_offset + _READ_MEANWHILE
                ),
                what=f"to grow by {_READ_MEANWHILE} records",
            )

    def inject(self, field: Field) -> None:
        """Send the DeleteRecords request, or change the topic's settings."""
        if self._by is By.ORDER:
            ends = {number: state.log_end_offset for number, state in self._before.items()}
            field.observer.worker.call(ObserverRole.delete_records(self._topic.topic, ends))
        else:
            self._alter(field, self._settings())

    def prove(self, field: Field) -> Evidence:
        """Landed when each log start has reached its goal, above where it was."""
        before, exact = self._before, self._up_to
        goals = {p: state.log_end_offset if exact is None else exact for p, state in before.items()}
        after = self._await(
            field,
            lambda state: state.log_start_offset >= goals[state.partition],
            what=f"to expire up to {'their earlier log ends' if exact is None else exact}",
        )
        starts = {p: state.log_start_offset for p, state in after.items()}
        return Evidence(
            landed=all(
                starts[p] >= goals[p] > before[p].log_start_offset and exact in (None, starts[p])
                for p in before
            ),
            facts={
                "log_start_before": {str(p): s.log_start_offset for p, s in before.items()},
                "log_end_before": {str(p): s.log_end_offset for p, s in before.items()},
                "log_start": {str(p): start for p, start in starts.items()},
            },
            forced_ms=self._forced_ms(field),
        )

    def heal(self, field: Field) -> None:
        """Stop the expiry. Deleted records stay deleted."""
        if self._by is not By.ORDER:
            self._alter(field, _UNEXPIRING)

    def _settings(self) -> dict[str, str]:
        if self._by is By.SIZE:
            kept = _BYTES_KEPT if self._up_to is None else _SEGMENT_KEPT
            return {"retention.ms": _UNBOUNDED, "retention.bytes": kept}
        return {"retention.ms": str(self._topic.retention_ms), "retention.bytes": _UNBOUNDED}

    def _forced_ms(self, field: Field) -> dict[str, int]:
        """Return the timeouts that must pass: the segment gets old enough, and retention runs."""
        looks = field.kafka.settings_ms("log.retention.check.interval.ms")
        match self._by:
            case By.TIME:
                return {"retention.ms": self._topic.retention_ms or 0, **looks}
            case By.SIZE:
                return {"segment.ms": int(_ROLL_MS), **looks}
            case By.ORDER:
                return {}

    def _alter(self, field: Field, config: dict[str, str]) -> None:
        field.observer.worker.call(ObserverRole.alter_topic(self._topic.topic, config))

    def _await(
        self, field: Field, reached: Callable[[PartitionState], bool], *, what: str
    ) -> dict[int, PartitionState]:
        return field.observer.await_states(
            self._topic.topic,
            range(self._topic.partitions),
            reached,
            what=what,
            hint="retention deletes whole rolled segments: is the topic written to?",
        )
