"""What clients did and saw, as rows of a history."""

from collections.abc import Sequence
from itertools import count
from typing import Any

from contract.events import make_value
from tests.exam.rows import HistoryRows


class ClientRows(HistoryRows):
    """Sends, deliveries, changes of members, commits and resets."""

    def sent(
        self,
        first: int | None,
        last: int | None = None,
        *,
        at: float,
        producer: str = "p",
        sequence: int | None = None,
        acks: str = "all",
        outcome: str = "ok",
        error: str | None = None,
        count: int | None = None,
        topic: str = "t",
        partition: int = 0,
        intended_at: float | None = None,
        transaction: int | None = None,
        is_idempotent: bool | None = None,
        in_flight_max: int | None = None,
    ) -> None:
        """Values that a producer set out to send, with their outcome.

        first, last: the offsets that were told (outcome ok); None where none was, with `count`.
        sequence: the first value's; else the first offset.
        """
        offsets: list[int | None] = (
            [None] * (count or 1)
            if first is None
            else list(range(first, (first if last is None else last) + 1))
        )
        start = sequence if sequence is not None else (first or 0)
        of_all = {
            "worker": self.own("w"),
            "producer": self.own(producer),
            "topic": self.own(topic),
            "partition": partition,
            "acks": acks,
            "outcome": outcome,
            "error": error,
            "intended_micros": self.at(at - 0.01 if intended_at is None else intended_at),
            "answered_micros": self.at(at),
            "transaction": transaction,
            "is_idempotent": is_idempotent,
            "in_flight_max": in_flight_max,
        }
        for own, offset in enumerate(offsets, start):
            value = self.value(own, producer)
            self.add("sends", **of_all, sequence=own, value=value, offset=offset)

    def value(self, sequence: int, producer: str = "p") -> str:
        """The value that a producer writes under a sequence number."""
        return make_value(self.own(producer), sequence)

    def polled(
        self,
        first: int,
        last: int | None = None,
        *,
        at: float,
        epoch: int = 0,
        member: str = "1",
        producer: str = "p",
        sequence: int | None = None,
        group: str = "g",
        topic: str = "t",
        partition: int = 0,
        is_intact: bool = True,
        is_unshown: bool = False,
    ) -> None:
        """Records delivered by one poll. sequence: of the first value; else the first offset.

        is_unshown: the client shows no epoch.
        """
        start = first if sequence is None else sequence
        of_all = {
            "worker": self.own("w"),
            "group": self.own(group),
            "member": self.member(member, group),
            "topic": self.own(topic),
            "partition": partition,
            "leader_epoch": epoch,
            "is_intact": is_intact,
            "seq": self._next_seq(),
            "polled_micros": self.at(at),
        }
        if is_unshown:
            unshown = {
                key: of_all[key] for key in ("worker", "group", "member", "topic", "partition")
            }
            self.add("unshown_epochs", **unshown)
        for index, offset in enumerate(range(first, (first if last is None else last) + 1)):
            value = self.value(start + index, producer)
            self.add("polls", **of_all, offset=offset, value=value, position_in_poll=index)

    def member(self, member: str, group: str = "g") -> str:
        """A member's name, `<group>#<number>`."""
        return f"{self.own(group)}#{member}"

    def polls_made(
        self, since: float, until: float, *, member: str = "1", group: str = "g"
    ) -> None:
        """The application polls a member again and again."""
        self.add(
            "poll_spans",
            worker=self.own("w"),
            group=self.own(group),
            member=self.member(member, group),
            seq=self._next_seq(),
            began_micros=self.at(since),
            ended_micros=self.at(until),
        )

    def changed(
        self,
        change: str,
        *,
        at: float,
        position: int | None = None,
        member: str = "1",
        group: str = "g",
        topic: str = "t",
        partition: int = 0,
        generation: int = -1,
        **columns: Any,
    ) -> None:
        """A change of a member: opened, assigned, revoked, lost, caught_up, closed, failed, ...

        Of opened and closed the partition is -1 and the topic empty. `failed` takes exception,
        message, divergent_offset and divergent_epoch; topic="" where the exception names none.
        """
        if change in ("opened", "closed"):
            topic, partition = "", -1
        self.add(
            "group_events",
            worker=self.own("w"),
            group=self.own(group),
            member=self.member(member, group),
            change=change,
            topic=self.own(topic),
            partition=partition if topic else -1,
            position=position,
            generation=generation,
            seq=self._next_seq(),
            at_micros=self.at(at),
            **columns,
        )

    def commit(
        self,
        offset: int | None,
        epoch: int,
        *,
        at: float,
        style: str = "record",
        stored: bool = True,
        brokers: Sequence[int] | None = None,
        outcome: str = "ok",
        error: str | None = None,
        member: str = "1",
        group: str = "g",
        topic: str = "t",
        partition: int = 0,
        record_epoch: int | None = None,
        cluster_epoch: int = -1,
        generation: int = -1,
    ) -> None:
        """A commit as the client reports it, and, if `stored`, as `__consumer_offsets` holds it."""
        self.add(
            "commits",
            worker=self.own("w"),
            group=self.own(group),
            member=self.member(member, group),
            topic=self.own(topic),
            partition=partition,
            offset=offset,
            committed_epoch=epoch,
            commit_epoch=style,
            record_epoch=epoch if record_epoch is None else record_epoch,
            position_epoch=-1,
            metadata_epoch=-1,
            cluster_epoch=cluster_epoch,
            position_epoch_after=-1,
            metadata_epoch_after=-1,
            generation=generation,
            outcome=outcome,
            error=error,
            seq=self._next_seq(),
            began_micros=self.at(at - 0.01),
            committed_micros=self.at(at),
        )
        if stored:
            self.stored(
                offset, epoch, at=at, group=group, topic=topic, partition=partition, brokers=brokers
            )

    def stored(
        self,
        offset: int | None,
        epoch: int,
        *,
        at: float,
        group: str = "g",
        topic: str = "t",
        partition: int = 0,
        offsets_partition: int | None = None,
        brokers: Sequence[int] | None = None,
        is_tombstone: bool = False,
    ) -> None:
        """A record of `__consumer_offsets`; brokers: whose replicas hold it at the end.

        offsets_partition: of `__consumer_offsets`; else one that is this history's own. The offset
            in it is the first that is free from the time in milliseconds on.
        """
        place = self.index if offsets_partition is None else offsets_partition
        taken = {
            row["offsets_offset"]
            for row in self.rows["committed_offsets"]
            if row["offsets_partition"] == place
        }
        free = (number for number in count(self.at(at) // 1000 % 10**9) if number not in taken)
        self.add(
            "committed_offsets",
            group=self.own(group),
            topic=self.own(topic),
            partition=partition,
            offset=offset,
            committed_epoch=epoch,
            metadata="",
            is_tombstone=is_tombstone,
            offsets_partition=place,
            offsets_offset=next(free),
            committed_micros=self.at(at) // 1000 * 1000,
            producer_id=-1,
            producer_epoch=-1,
            brokers=None if brokers is None else [self.broker(broker) for broker in brokers],
        )

    def reset(
        self,
        cause: str,
        start: int,
        to: int | None,
        *,
        at: float,
        epoch: int = -1,
        policy: str = "earliest",
        member: str = "2",
        group: str = "g",
        topic: str = "t",
        partition: int = 0,
    ) -> None:
        """A reset that a client logged: truncation, out_of_range or no_commit; from `start`.

        epoch: that the position had, -1 if none. to: None where the client raised instead.
        """
        self.add(
            "resets",
            worker=self.own("w"),
            group=self.own(group),
            member=self.member(member, group),
            topic=self.own(topic),
            partition=partition,
            cause=cause,
            policy=policy,
            from_offset=start,
            from_epoch=epoch,
            to_offset=to,
            to_epoch=-1,
            log_line=f"{cause} from {start} to {to}",
            at_micros=self.at(at),
        )
