"""Which older epochs the log of each leader of a partition had nothing of.

A log is one branch of the partition's tree of epochs. A new leader's log usually has a part of each
epoch before, up to where the next one started. It has nothing of an epoch that another broker led
while this one was away, if this one is elected later from where its own log ended.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.statements.files import computed
from analysis.statements.trace import Row, Trace
from contract.table_columns import PARTITION, int32, int32s


@dataclass
class LogsOfPartition:
    """What is known of the logs of one partition.

    Attributes:
        starts: by epoch, the highest offset at which it may have started; only where known.
        logs: logs that were seen whole, as replicas hold them at the end or held them before a
            fault ended: by epoch, up to which offset it is known to go (exclusive).
        reached: by epoch, the same of its leader's log.
        leaders: by epoch.
        in_sync: (epoch, ISR) of each state of the metadata log.
        truncated: by broker, when and to which offset.
        began: by epoch, when.
    """

    starts: dict[int, int] = field(default_factory=dict)
    logs: dict[Any, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    reached: dict[int, int] = field(default_factory=dict)
    leaders: dict[int, int] = field(default_factory=dict)
    in_sync: list[tuple[int, list[int]]] = field(default_factory=list)
    truncated: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    began: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "LogsOfPartition":
        """By a row of `forked_logs`."""
        known = cls()
        for start in row["starts"]:
            known.starts[start["leader_epoch"]] = start["start_high"]
            if start["from_micros"] is not None:
                known.began[start["leader_epoch"]] = start["from_micros"]
        for log in row["logs"] or []:
            known.logs[log["broker"], log["at_micros"]][log["leader_epoch"]] = log["reached"]
        for leader in row["leaders_reached"] or []:
            known.reached[leader["leader_epoch"]] = leader["reached"]
        for state in row["states"] or []:
            known.in_sync.append((state["leader_epoch"], state["isr"] or []))
            if state["leader"] >= 0:
                known.leaders[state["leader_epoch"]] = state["leader"]
        for cut in row["cuts"] or []:
            known.truncated[cut["broker"]].append((cut["at_micros"], cut["to_offset"]))
        return known

    def lineages(self) -> dict[int, tuple[set[int], set[int]]]:
        """By epoch: the older ones that its leader's log surely lacked, and may have lacked."""
        found: dict[int, tuple[set[int], set[int]]] = {}
        for epoch in sorted(self.starts):
            older = [other for other in found if self.starts[other] < self.starts[epoch]]
            seen = [log for log in self.logs.values() if epoch in log]
            leader = self.leaders.get(epoch, -1)
            last = max(
                (other for other, isr in self.in_sync if leader in isr and other < epoch),
                default=-1,
            )
            apart = [other for other in older if other > last]
            lacked = {other for other in older if any(self._lacks(log, other) for log in seen)}
            led = self._led_before(leader, epoch)
            lacked |= {other for other in apart if self._lacks(led, other)}
            may_lack = set() if seen else set(apart)
            had = {other for log in seen for other in log}
            parent = max((other for other in found if other not in lacked), default=None)
            if parent is not None:
                lacked |= found[parent][0] - had
                may_lack |= found[parent][1] - had
            found[epoch] = lacked, may_lack - lacked
        return found

    def _lacks(self, log: dict[int, int], epoch: int) -> bool:
        """Whether a log went on with an older epoch behind the start of this one."""
        is_behind = (other < epoch and end > self.starts[epoch] for other, end in log.items())
        return epoch not in log and any(is_behind)

    def _led_before(self, leader: int, epoch: int) -> dict[int, int]:
        """What a leader's log held since it led before, as far as it did not truncate it."""
        until = self.began.get(epoch, 0)
        return {
            other: min(
                [
                    self.reached.get(other, 0),
                    *(to for at, to in self.truncated[leader] if self.began[other] <= at <= until),
                ]
            )
            for other, broker in self.leaders.items()
            if broker == leader and other < epoch and other in self.began
        }


@computed(
    *PARTITION,
    int32("leader_epoch"),
    int32s("lacked", "older epochs of which the leader's log had nothing, though they had begun"),
    int32s("may_lack", "those of which that is not known"),
)
def lineages(trace: Trace) -> Iterator[Row]:
    """The leader epochs whose leader's log lacks some older epoch, or may lack it.

    An epoch is lacked if the log has an older one behind its start. That is known of a log that a
    replica holds at the end, or held before a fault ended; and of a leader that led before, and was
    not in sync and truncated nothing since. Each epoch's log has what the log before it had, so it
    is computed in Python, epoch by epoch.
    """
    for row in trace.ask("select * from forked_logs"):
        for epoch, (lacked, may_lack) in LogsOfPartition.of(row).lineages().items():
            if lacked or may_lack:
                trace.touch("truncations")
                yield {
                    "topic": row["topic"],
                    "partition": row["partition"],
                    "leader_epoch": epoch,
                    "lacked": sorted(lacked),
                    "may_lack": sorted(may_lack),
                }
