"""Where the rows of one history go, and how its names, brokers and times are made its own."""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from typing import Any

from contract.events import make_value
from contract.ranges import row_schema
from contract.run_folder import GroupPlan, MemberPlan, ProducerPlan, TopicPlan
from contract.software import Level
from contract.tables import MICROS_PER_SECOND
from tests.exam.world import DURATIONS, LISTS_OF_SERVERS, NAMES, SERVERS, Place, Row

METADATA_STEP = 10
"""How far apart a history's records in the metadata log are."""
Found = tuple[str, int, str | None, str]
"""Topic, partition, group and verdict of a finding."""


def _slice(rows: str) -> slice:
    first, colon, last = rows.partition(":")
    begins = int(first) if first else None
    ends = begins + 1 or None if begins is not None and not colon else int(last) if last else None
    return slice(begins, ends)


@cache
def _columns(table: str) -> frozenset[str]:
    return frozenset(row_schema(table).names)


@dataclass
class HistoryRows:
    """The rows of one history, and its plan.

    Names of topics, groups, producers and workers are made its own by a prefix, broker ids by an
    offset, and times by where it begins; so write `t`, `g`, `p`, `w`, broker 1 and second 3.

    Attributes:
        seconds: how long it is, 3600 at most.
        verdicts: by check, all that it is to find here, of the checks for which that is said.
    """

    place: Place
    alone: bool = False
    seconds: float = 100.0
    topics: list[TopicPlan] = field(default_factory=list)
    groups: list[GroupPlan] = field(default_factory=list)
    producers: list[ProducerPlan] = field(default_factory=list)
    rows: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    missing: set[str] = field(default_factory=set)
    error: str | None = None
    verdicts: dict[str, set[Found]] = field(default_factory=lambda: defaultdict(set))
    _metadata_offset: int = 0
    _seq: int = 0

    @property
    def name(self) -> str:
        """The history's name, the prefix of its own."""
        return self.place.name

    @property
    def index(self) -> int:
        """The first of the numbers that are its own: of partitions of Kafka's own topics, ..."""
        return self.place.number(0)

    def own(self, name: str) -> str:
        """A name as it stands in the tables; Kafka's own topics (`__...`) keep theirs."""
        return self.place.own(name)

    def broker(self, number: int) -> int:
        """A broker's id as it stands in the tables; -1 (none) stays."""
        return self.place.server(number)

    def at(self, seconds: float) -> int:
        """A moment in microseconds since 1970."""
        return self.place.began_micros + round(seconds * MICROS_PER_SECOND)

    def add(self, table: str, **columns: Any) -> None:
        """One row as it is to stand in the table (see docs/results.md); a column not given is null.

        Use this for whatever the verbs below do not write, with `own`, `broker` and `at`.
        """
        if unknown := columns.keys() - _columns(table):
            raise KeyError(f"table {table} has no columns {sorted(unknown)}")
        self.rows[table].append(columns)

    def set(self, table: str, rows: str, **columns: Any) -> None:
        """Rows are otherwise: the one of a number from 0 on, or those of a slice, such as `-3:`."""
        for row in self.rows[table][_slice(rows)]:
            row.update(columns)

    def drop(self, table: str, rows: str = ":") -> None:
        """Rows are not there."""
        del self.rows[table][_slice(rows)]

    def in_order(self, table: str) -> None:
        """The rows stand in the order of their times."""
        self.rows[table].sort(key=itemgetter("at_micros"))

    def lasts(self, seconds: float) -> None:
        """The history is longer than others."""
        self.seconds = float(seconds)

    def lacks(self, table: str) -> None:
        """The run has no such table."""
        self.missing.add(table)

    def beside(self, table: str, row: str, **columns: Any) -> None:
        """One more row, which differs from that of a number in some columns."""
        (like,) = self.rows[table][_slice(row)]
        changed = like | columns
        self.rows[table].append(changed | self.numbers_of_its_own(table, changed))

    def as_stored(self, name: str, value: Any) -> Any:
        """A value in the terms of a history, as it stands in a column."""
        stored: Any = value
        if value is None:
            pass
        elif name.endswith("_micros") and name not in DURATIONS:
            stored = self.at(value)
        elif name == "value" and not isinstance(value, str):
            stored = make_value(self.own(value[0]), int(value[1]))
        elif name in NAMES and isinstance(value, str):
            stored = self.own(value)
        elif name in SERVERS:
            stored = self.broker(value)
        elif name in LISTS_OF_SERVERS and isinstance(value, list):
            stored = [self.broker(broker) for broker in value]
        return stored

    def finds(
        self, check: str, verdict: str, *, topic: str, partition: int, group: str | None = None
    ) -> None:
        """A check is to find this, and nothing but what is said so."""
        place = self.own(topic), partition, None if group is None else self.own(group)
        self.verdicts[check].add((*place, verdict))

    # The plan.

    def topic(
        self,
        topic: str = "t",
        *,
        partitions: int = 1,
        replication: int = 2,
        min_insync: int = 1,
        unclean_election: bool = False,
        retention_ms: int | None = None,
        deletes: bool = False,
    ) -> None:
        """A topic under test. `deletes`: the scenario deletes by size or by DeleteRecords."""
        planned = TopicPlan(
            topic=self.own(topic),
            partitions=partitions,
            replication=replication,
            min_insync=min_insync,
            unclean_election=unclean_election,
            retention_ms=retention_ms,
            deletes=deletes,
        )
        if planned not in self.topics:
            self.topics.append(planned)

    def group(
        self,
        group: str = "g",
        topic: str = "t",
        *,
        commit_epoch: str = "record",
        reset: str = "earliest",
        isolation: str | None = "read_uncommitted",
        client: str = "java",
        manner: str = "sync",
        settings: dict[str, str | int] | None = None,
        members: int = 1,
        other: str | None = None,
        level: str = Level.POSITIONS,
    ) -> None:
        """A group under test, and its topic, unless that is planned.

        commit_epoch: the style by which it chooses the epoch.
        other: the client of its second member, if it is another one.
        level: what its guests show.
        """
        if self.own(topic) not in (planned.topic for planned in self.topics):
            self.topic(topic)
        self.groups.append(
            GroupPlan(
                group=self.own(group),
                client=client,
                topic=self.own(topic),
                commit_epoch=commit_epoch,
                reset=reset,
                isolation=isolation,
                manner=manner,
                settings=settings or {},
                members=members,
                others={2: MemberPlan(client=other)} if other else {},
                level=level,
            )
        )

    def producer(
        self,
        producer: str = "p",
        topic: str = "t",
        *,
        client: str = "java",
        settings: dict[str, str | int] | None = None,
    ) -> None:
        """A producer that is planned; one that is not is Java's, without settings of its own."""
        self.producers.append(
            ProducerPlan(
                producer=self.own(producer),
                topic=self.own(topic),
                client=client,
                settings=settings or {},
            )
        )

    def numbers_of_its_own(self, table: str, row: Row) -> Row:
        """The numbers that no other row may have."""
        numbers = {}
        if row.get("seq") is not None:
            numbers["seq"] = self._next_seq()
        if "metadata_offset" in row:
            numbers["metadata_offset"] = self._next_metadata_offset()
        if table == "committed_offsets":
            numbers["offsets_offset"] = 1 + max(
                stored["offsets_offset"] for stored in self.rows[table]
            )
        return numbers

    def _next_metadata_offset(self) -> int:
        self._metadata_offset += METADATA_STEP
        return self.place.metadata_offset(self._metadata_offset)

    def _next_seq(self) -> int:
        self._seq += 1
        return self._seq
