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
        for one in row["starts"]:
            known.starts[one["leader_epoch"]] = one["start_high"]
            if one["from_micros"] is not None:
                known.began[one["leader_epoch"]] = one["from_micros"]
        for one in row["logs"] or []:
            known.logs[one["broker"], one["at_micros"]][one["leader_epoch"]] = one["reached"]
        for one in row["leaders_reached"] or []:
            known.reached[one["leader_epoch"]] = one["reached"]
        for one in row["states"] or []:
            known.in_sync.append((one["leader_epoch"], one["isr"] or []))
            if one["leader"] >= 0:
                known.leaders[one["leader_epoch"]] = one["leader"]
        for one in row["cuts"] or []:
            known.truncated[one["broker"]].append((one["at_micros"], one["to_offset"]))
        return known

    def lineages(self) -> dict[int, tuple[set[int], set[int]]]:
        """By epoch: the older ones that its leader's log surely lacked, and may have lacked."""
        found: dict[int, tuple[set[int], set[int]]] = {}
        for epoch in sorted(self.starts):
            older = [one for one in found if self.starts[one] < self.starts[epoch]]
            seen = [log for log in self.logs.values() if epoch in log]
            leader = self.leaders.get(epoch, -1)
            last = max(
                (one for one, isr in self.in_sync if leader in isr and one < epoch), default=-1
            )
            apart = [one for one in older if one > last]
            lacked = {one for one in older if any(self._lacks(log, one) for log in seen)}
            led = self._led_before(leader, epoch)
            lacked |= {one for one in apart if self._lacks(led, one)}
            may_lack = set() if seen else set(apart)
            had = {one for log in seen for one in log}
            parent = max((one for one in found if one not in lacked), default=None)
            if parent is not None:
                lacked |= found[parent][0] - had
                may_lack |= found[parent][1] - had
            found[epoch] = lacked, may_lack - lacked
        return found

    def _lacks(self, log: dict[int, int], epoch: int) -> bool:
        """Whether a log went on with an older epoch behind the start of this one."""
        is_behind = (one < epoch and end > self.starts[epoch] for one, end in log.items())
        return epoch not in log and any(is_behind)

    def _led_before(self, leader: int, epoch: int) -> dict[int, int]:
        """What a leader's log held since it led before, as far as it did not truncate it."""
        until = self.began.get(epoch, 0)
        return {
            one: min(
                [
                    self.reached.get(one, 0),
                    *(to for at, to in self.truncated[leader] if self.began[one] <= at <= until),
                ]
            )
            for one, broker in self.leaders.items()
            if broker == leader and one < epoch and one in self.began
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
