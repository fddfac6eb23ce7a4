"""A group that reads: from stints of its members to polls, commits and changes."""

from dataclasses import dataclass, field, replace

import numpy as np

from contract.run_folder import GroupPlan
from contract.terms import Isolation, Outcome
from simulator.frames import Array, Frame
from simulator.log import NEVER, REPLICATION_MICROS, Log
from simulator.stories import READS_UNTIL
from simulator.universe import Universe

POLL_MICROS = 500_000
COMMIT_MICROS = 3_000_000
_AFTER_THE_POLL_MICROS = 10_000
COMMITTING_MICROS = 2_000
OFFSETS_PARTITIONS = 3
"""The number of partitions of `__consumer_offsets`."""
_POLL_RECORDS, _STINT_POLLS = 500, 25
"""The default of `max.poll.records`; a member that catches up needs no more polls than this."""


@dataclass(frozen=True)
class Stint:
    """A member's ownership of a partition; times in microseconds since 1970.

    start: where it begins; None: at the group's last commit, or at 0.
    is_on_old_branch: it reads records that are truncated later.
    is_continued: the member had the partition all the time.
    ends: `revoked` is reported, `killed` is not; `end` reports that it is caught up.
    commits_last: it commits when it ends.
    commits: it commits at all.
    is_catching_up: it reads what lies there already, in polls of a limited size.
    """

    member: str
    partition: int
    began: int
    ended: int
    start: int | None = None
    is_on_old_branch: bool = False
    is_continued: bool = False
    ends: str = "revoked"
    commits_last: bool = False
    commits: bool = True
    is_catching_up: bool = False


@dataclass(frozen=True)
class View:
    """A partition's records that can be delivered to a group, by offset."""

    index: Array
    offset: Array
    epoch: Array
    readable: Array
    is_delivered: Array


@dataclass
class Reader:
    """One group and its position."""

    universe: Universe
    plan: GroupPlan
    number: int
    positions: dict[int, int] = field(default_factory=dict)
    committed: dict[int, int] = field(default_factory=dict)

    def event(
        self,
        member: str,
        change: str,
        at: int,
        *,
        partition: int = -1,
        position: int | None = None,
        epoch: int = -1,
    ) -> None:
        """Add a change of a member."""
        self.universe.write(
            "group_events",
            worker=self.universe.worker,
            group=self.plan.group,
            member=member,
            change=change,
            topic=self.universe.topic if partition >= 0 else "",
            partition=partition,
            position=position,
            position_epoch=epoch,
            at_micros=at,
        )

    def reset(
        self, member: str, partition: int, cause: str, at: int, *, to: int, of: tuple[int, int]
    ) -> None:
        """Add a reset as in the client's log; `of` is the position and its epoch."""
        self.universe.write(
            "resets",
            worker=self.universe.worker,
            group=self.plan.group,
            member=member,
            topic=self.universe.topic,
            partition=partition,
            cause=cause,
            policy=self.plan.reset,
            from_offset=of[0] if of[0] >= 0 else None,
            from_epoch=of[1],
            to_offset=to,
            to_epoch=-1,
            log_line=f"{cause} of {self.universe.topic}-{partition}",
            at_micros=at,
        )

    def read(self, stint: Stint) -> None:
        """Deliver and commit the records of a stint."""
        start = self.committed.get(stint.partition, 0) if stint.start is None else stint.start
        phase = self.number * 1000 + stint.partition * 10
        if not stint.is_continued:
            at = stint.began + phase
            self.event(stint.member, "assigned", at, partition=stint.partition, position=start)
        if stint.start is None and stint.partition not in self.committed:
            self.reset(stint.member, stint.partition, "no_commit", stint.began, to=0, of=(-1, -1))
        view = view_of(
            self.universe.the_log(),
            stint.partition,
            is_committed=self.plan.isolation_level == Isolation.READ_COMMITTED,
            is_old=stint.is_on_old_branch,
        )
        ticks = _ticks(self.universe.began + phase, stint)
        if stint.is_catching_up:
            view = _in_limited_polls(view, ticks, start)
        self._deliver(stint, view, ticks, start)
        if stint.commits:
            self._commit(stint, view, ticks, start)
        position, epoch = self._position(view, ticks, start, stint.ended)
        self.positions[stint.partition] = position
        at = stint.ended + phase
        if stint.ends == "revoked":
            self.event(stint.member, "revoked", at, partition=stint.partition)
        elif stint.ends == "end":
            where = {"partition": stint.partition, "position": position, "epoch": epoch}
            self.event(stint.member, "caught_up", at, **where)

    def _deliver(self, stint: Stint, view: View, ticks: tuple[int, int], start: int) -> None:
        first, phase = ticks
        tick = np.maximum(-(-(view.readable - phase) // POLL_MICROS), first)
        at = phase + tick * POLL_MICROS
        chosen = np.flatnonzero(
            view.is_delivered & (view.offset >= start) & (at <= stint.ended) & (view.readable <= at)
        )
        if not len(chosen):
            return
        index, at = view.index[chosen], at[chosen]
        log = self.universe.the_log()
        self.universe.write(
            "polls",
            len(index),
            worker=self.universe.worker,
            group=self.plan.group,
            member=stint.member,
            topic=self.universe.topic,
            partition=stint.partition,
            offset=log.offset[index],
            leader_epoch=log.epoch[index],
            value=log.value[index],
            is_intact=True,
            position_in_poll=np.arange(len(at)) - np.searchsorted(at, at),
            polled_micros=at,
        )

    def _commit(self, stint: Stint, view: View, ticks: tuple[int, int], start: int) -> None:
        phase = ticks[1] + _AFTER_THE_POLL_MICROS
        first = (stint.began - phase) // COMMIT_MICROS + 1
        last = (stint.ended - phase) // COMMIT_MICROS
        times = [phase + k * COMMIT_MICROS for k in range(first, last + 1)]
        if stint.commits_last:
            times.append(stint.ended)
        for at in times:
            position, epoch = self._position(view, ticks, start, at)
            if position > start:
                self.committed[stint.partition] = position
                self.universe.write(
                    "commits",
                    worker=self.universe.worker,
                    group=self.plan.group,
                    member=stint.member,
                    topic=self.universe.topic,
                    partition=stint.partition,
                    offset=position,
                    committed_epoch=epoch,
                    commit_epoch=self.plan.commit_epoch,
                    record_epoch=epoch,
                    position_epoch=-1,
                    metadata_epoch=-1,
                    cluster_epoch=-1,
                    position_epoch_after=-1,
                    metadata_epoch_after=-1,
                    generation=-1,
                    outcome=Outcome.OK.value,
                    began_micros=at - COMMITTING_MICROS,
                    committed_micros=at,
                )

    @staticmethod
    def _position(view: View, ticks: tuple[int, int], start: int, at: int) -> tuple[int, int]:
        """The position and its epoch after the last poll until a moment."""
        first, phase = ticks
        tick = (at - phase) // POLL_MICROS
        if tick < first:
            return start, -1
        came = int(np.searchsorted(view.readable, phase + tick * POLL_MICROS, side="right"))
        if not came or view.offset[came - 1] < start:
            return start, -1
        return int(view.offset[came - 1]) + 1, int(view.epoch[came - 1])


def read_all(universe: Universe, number: int) -> None:
    """One member of a group has all partitions from the beginning to the end."""
    reader = Reader(universe, universe.groups[number], number)
    member = f"{reader.plan.group}#1"
    began, ended = universe.at(2.0), universe.at(READS_UNTIL)
    reader.event(member, "opened", universe.at(1.5))
    for partition in range(universe.partitions):
        reader.read(Stint(member, partition, began, ended, ends="end"))
    reader.event(member, "closed", universe.at(READS_UNTIL + 1))


def stored_rows(universe: Universe, commits: Frame) -> Frame:
    """Return the stored rows of commits."""
    numbers = {group.group: index for index, group in enumerate(universe.groups)}
    return Frame.of(
        "committed_offsets",
        len(commits),
        producer_id=-1,
        producer_epoch=-1,
        group=commits["group"],
        topic=universe.topic,
        partition=commits["partition"],
        offset=commits["offset"],
        committed_epoch=commits["committed_epoch"],
        metadata="",
        is_tombstone=False,
        offsets_partition=np.array(
            [numbers[group] % OFFSETS_PARTITIONS for group in commits["group"]], dtype=np.int64
        ),
        committed_micros=commits["committed_micros"] // 1000 * 1000,
    )


def view_of(log: Log, partition: int, *, is_committed: bool, is_old: bool) -> View:
    """A partition's records, of the surviving branch or of that before its truncation."""
    mine = log.partition == partition
    if is_old and (log.is_cut & mine).any():
        mine &= log.epoch <= log.epoch[log.is_cut & mine].max()
    else:
        mine &= ~log.is_cut
    index = np.flatnonzero(mine)
    index = index[np.argsort(log.offset[index], kind="stable")]
    readable = log.visible[index] if is_committed else log.at[index] + REPLICATION_MICROS
    hidden = log.is_control[index]
    if is_committed:
        hidden = hidden | log.is_aborted[index]
    return View(
        index,
        log.offset[index],
        log.epoch[index],
        np.maximum.accumulate(np.minimum(readable, NEVER - POLL_MICROS * 2)),
        ~hidden,
    )


def _in_limited_polls(view: View, ticks: tuple[int, int], start: int) -> View:
    """Return a view in which each record is readable when the polls from `start` reach it."""
    first, phase = ticks
    records_max = max(_POLL_RECORDS, -(-len(view.offset) // _STINT_POLLS))
    ahead = np.maximum(np.arange(len(view.offset)) - np.searchsorted(view.offset, start), 0)
    reached = phase + (first + ahead // records_max) * POLL_MICROS
    return replace(view, readable=np.maximum(view.readable, reached))


def _ticks(phase: int, stint: Stint) -> tuple[int, int]:
    """The first tick of a stint, and the moment of tick 0."""
    return -(-(stint.began - phase) // POLL_MICROS) + 1, phase
