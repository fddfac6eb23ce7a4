"""Many histories in one trace: what keeps them apart, and whose each finding is.

A history has names, brokers, times and numbers of its own. The exam's histories are written with
them; runs of clusters are moved to them (`Place.laid`), so that many tampered copies of a run are
judged as one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from contract.protocol import METADATA_LOG
from contract.run_folder import GroupPlan, Plan, TopicPlan
from contract.tables import MICROS_PER_SECOND

Row = dict[str, Any]
Tables = dict[str, list[Row]]

BEGINNING_MICROS = 1_767_225_600 * MICROS_PER_SECOND
"""When the first history begins."""
SECONDS = 3600
"""Between the beginnings of two histories; none is longer."""
NUMBERS = 1000
"""Numbers of servers, of partitions of Kafka's own topics, and of epochs of the quorum, that a
history may use: controllers have those from 101 on."""
METADATA_ENTRIES = 1_000_000
"""Offsets of the metadata log that a history may use."""
PRODUCER_IDS = 1_000_000
KAFKAS_OWN = "__"
"""The prefix of the names of Kafka's own topics."""

NAMES = (
    "worker", "group", "member", "topic", "producer", "value", "transactional_id", "topic_id",
    "node", "principal", "client_id",
)  # fmt: skip
SERVERS = ("broker", "leader", "server")
LISTS_OF_SERVERS = ("replicas", "isr", "elr", "brokers", "voters", "observers")
_OFFSETS_OF_METADATA = ("metadata_offset", "broker_epoch")
_OFFSETS_OF_QUORUM = {
    "metadata_batches": ("base_offset", "last_offset"),
    "cut_metadata_batches": ("base_offset", "last_offset"),
    "quorum_samples": ("high_watermark",),
}
"""Offsets in the metadata log, by table. What names its topic also has them, as `_OF_LOG`."""
_OF_LOG = ("to_offset", "asked_offset", "diverging_offset", "offset")
_EPOCHS_OF_LOG = ("current_leader_epoch", "asked_epoch", "epoch", "diverging_epoch")
"""Epochs of the quorum, in rows that name the topic of the metadata log."""
DURATIONS = ("ahead_micros", "behind_micros", "clock_jump_micros")
_PREFIX = re.compile(r"(?<![\w.-])([\w-]+)\.")


@dataclass(frozen=True)
class Place:
    """What one history has for itself in a trace of many."""

    name: str
    index: int

    def own(self, name: str) -> str:
        """A name as it stands in the tables; Kafka's own topics (`__...`) keep theirs."""
        return name if name.startswith(KAFKAS_OWN) or not name else f"{self.name}.{name}"

    def server(self, number: int) -> int:
        """The id of a broker or controller; -1 (none) stays."""
        return self.number(number) if number >= 0 else number

    def number(self, number: int) -> int:
        """A partition of Kafka's own topics, or an epoch of the quorum."""
        return self.index * NUMBERS + number

    def metadata_offset(self, offset: int) -> int:
        """An offset of the metadata log; -1 (none) stays."""
        return self.index * METADATA_ENTRIES + offset if offset >= 0 else offset

    def producer_id(self, number: int) -> int:
        """A producer id."""
        return self.index * PRODUCER_IDS + number

    @property
    def began_micros(self) -> int:
        """When it begins."""
        return BEGINNING_MICROS + self.index * SECONDS * MICROS_PER_SECOND

    def topics(self, plan: Plan) -> list[TopicPlan]:
        """The topics of a run's plan."""
        return [
            msgspec.structs.replace(topic, topic=self.own(topic.topic)) for topic in plan.topics
        ]

    def groups(self, plan: Plan) -> list[GroupPlan]:
        """The groups of a run's plan."""
        return [
            msgspec.structs.replace(group, group=self.own(group.group), topic=self.own(group.topic))
            for group in plan.groups
        ]

    def lay(self, tables: Mapping[str, Iterable[Row]], began_micros: int) -> Tables:
        """The rows of a run that began at some time."""
        later = self.began_micros - began_micros
        return {
            table: [self._lay_row(table, row, later) for row in rows]
            for table, rows in tables.items()
        }

    def _lay_row(self, table: str, row: Row, later_micros: int) -> Row:
        laid = {name: self._value(table, name, value, later_micros) for name, value in row.items()}
        if row.get("topic", "") and row["topic"].startswith(KAFKAS_OWN):
            laid["partition"] = self.number(row["partition"])
        if row.get("topic") == METADATA_LOG:
            laid |= self._laid_of_quorum(row)
        if table == "acls" and row["resource_type"] == "TOPIC":
            laid["resource_name"] = self.own(row["resource_name"])
        if table == "servers":
            laid["name"] = self.own(row["name"])
        return laid

    def _laid_of_quorum(self, row: Row) -> Row:
        """The offsets and epochs of a row about the metadata log."""
        offsets = {name: row[name] for name in _OF_LOG if row.get(name) is not None}
        epochs = {name: row[name] for name in _EPOCHS_OF_LOG if (row.get(name, -1) or 0) >= 0}
        return {name: self.metadata_offset(value) for name, value in offsets.items()} | {
            name: self.number(value) for name, value in epochs.items() if value is not None
        }

    def _value(self, table: str, name: str, value: object, later_micros: int) -> object:
        laid = value
        if isinstance(value, str):
            laid = self.own(value) if name in NAMES else value
        elif isinstance(value, list):
            laid = self._list(name, value)
        elif name.endswith("_micros") and name not in DURATIONS and isinstance(value, int):
            laid = value + later_micros
        elif isinstance(value, int) and value >= 0:
            laid = self._number(table, name, value)
        return laid

    def _list(self, name: str, values: list[Any]) -> list[Any]:
        if name == "transactional_ids":
            return [self.own(value) for value in values]
        if name in LISTS_OF_SERVERS:
            return [self.server(value) for value in values]
        is_of_log = name == "log_ends"
        return [self.metadata_offset(value) for value in values] if is_of_log else values

    def _number(self, table: str, name: str, value: int) -> int:
        if name in SERVERS:
            return self.server(value)
        if name in _OFFSETS_OF_METADATA or name in _OFFSETS_OF_QUORUM.get(table, ()):
            return self.metadata_offset(value)
        is_of_quorum = table == "quorum_samples" and name == "leader_epoch"
        if name in ("metadata_epoch", "offsets_partition") or is_of_quorum:
            return self.number(value)
        return self.producer_id(value) if name == "producer_id" else value


class World:
    """The places of the histories of one trace."""

    def __init__(self, names: Sequence[str], *, first: int = 0) -> None:
        """Give each history a place, the first of them that of number `first`."""
        self.places = [Place(name, index) for index, name in enumerate(names, first)]
        self._named = {place.name: place for place in self.places}
        self._numbered = {place.index: place for place in self.places}

    def place_of(self, finding: Row) -> Place | None:
        """Whose finding it is, by its own name, server or time; None if it has none.

        Args:
            finding: its row, with the evidence as text or decoded.
        """
        evidence = finding["evidence"]
        if isinstance(evidence, str):
            evidence = msgspec.json.decode(evidence)
        for text in (finding["topic"], finding["group"], *evidence.values(), finding["cause"]):
            for name in _PREFIX.findall(text) if isinstance(text, str) else ():
                if name in self._named:
                    return self._named[name]
        return self._numbered.get(self._index_of(finding, evidence))

    def _index_of(self, finding: Row, evidence: Row) -> int:
        """The number of the place of a finding that names none; -1 if it has none."""
        servers = evidence.get("servers") or evidence.get("brokers")
        if isinstance(servers, list) and servers:
            return int(servers[0]) // NUMBERS
        for name in SERVERS:
            if isinstance(evidence.get(name), int):
                return int(evidence[name]) // NUMBERS
        if finding["partition"] is not None and str(finding["topic"]).startswith(KAFKAS_OWN):
            return int(finding["partition"]) // NUMBERS
        if finding["at"] is not None:
            return int(finding["at"] - BEGINNING_MICROS) // (SECONDS * MICROS_PER_SECOND)
        return -1
