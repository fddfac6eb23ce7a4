"""Many lies in one trace: each in a copy of its genuine run, with names and times of its own."""

import re
from dataclasses import dataclass
from typing import Any

import msgspec

from bench.lies.genuine import Genuine, Row, Tables
from contract.quorum_rules import METADATA_LOG
from contract.run_folder import GroupPlan, Plan, TopicPlan

STRIDE_MICROS = 3600 * 1_000_000
"""Between the beginnings of two universes; a run is shorter."""
BROKERS_EACH = 1000
"""Numbers of servers that a universe may use: those of controllers begin at 101."""
FIRST = 1
"""The first universe's index. There is none with the genuine places in the metadata log, where what
is judged by the log's start would differ from all others."""
PARTITIONS_EACH = 1000
"""Numbers of partitions of Kafka's own topics, and of epochs of the quorum, of a universe."""
METADATA_STRIDE = 1_000_000
"""Between the metadata logs of two universes, in entries."""
PREFIX = re.compile(r"u(\d{3})\.")

_NAMES = (
    "worker", "group", "member", "topic", "producer", "value", "transactional_id", "topic_id",
    "node", "principal",
)  # fmt: skip
_SERVERS = ("broker", "leader", "server")
_LISTS_OF_SERVERS = ("replicas", "isr", "elr", "brokers", "voters", "observers")
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
_DURATIONS = ("ahead_micros", "behind_micros", "clock_jump_micros")
KAFKAS_OWN = "__"


@dataclass(frozen=True)
class Universe:
    """One place for a lie in a trace of many."""

    index: int

    @property
    def prefix(self) -> str:
        """The prefix of each of its names."""
        return f"u{self.index:03d}."

    def laid(self, tables: Tables) -> Tables:
        """Rows with the universe's own names, numbers and times."""
        return {table: [self._laid(table, row) for row in rows] for table, rows in tables.items()}

    def topics(self, plan: Plan) -> list[TopicPlan]:
        """The plan's topics."""
        return [msgspec.structs.replace(one, topic=self.prefix + one.topic) for one in plan.topics]

    def groups(self, plan: Plan) -> list[GroupPlan]:
        """The plan's groups."""
        return [
            msgspec.structs.replace(
                one, group=self.prefix + one.group, topic=self.prefix + one.topic
            )
            for one in plan.groups
        ]

    def _laid(self, table: str, row: Row) -> Row:
        laid = {name: self._value(table, name, value) for name, value in row.items()}
        if row.get("topic", "") and row["topic"].startswith(KAFKAS_OWN):
            laid["topic"], laid["partition"] = row["topic"], self._far(row["partition"])
        if row.get("topic") == METADATA_LOG:
            laid |= self._laid_of_quorum(row)
        if table == "acls" and row["resource_type"] == "TOPIC":
            laid["resource_name"] = self.prefix + row["resource_name"]
        if table == "servers":
            laid["name"] = self.prefix + row["name"]
        return laid

    def _laid_of_quorum(self, row: Row) -> Row:
        """The offsets and epochs of a row about the metadata log."""
        offsets = {name: row[name] for name in _OF_LOG if row.get(name) is not None}
        epochs = {name: row[name] for name in _EPOCHS_OF_LOG if (row.get(name, -1) or 0) >= 0}
        return {name: self._metadata_offset(value) for name, value in offsets.items()} | {
            name: self._far(value) for name, value in epochs.items() if value is not None
        }

    def _value(self, table: str, name: str, value: object) -> object:
        laid = value
        if isinstance(value, str):
            laid = self.prefix + value if name in _NAMES and value else value
        elif isinstance(value, list):
            laid = self._list(name, value)
        elif isinstance(value, int) and value >= 0:
            laid = self._number(table, name, value)
        return laid

    def _list(self, name: str, values: list[Any]) -> list[Any]:
        if name == "transactional_ids":
            return [self.prefix + one for one in values]
        if name in _LISTS_OF_SERVERS:
            return [self._server(one) for one in values]
        is_of_log = name == "log_ends"
        return [self._metadata_offset(one) for one in values] if is_of_log else values

    def _number(self, table: str, name: str, value: int) -> int:
        if name.endswith("_micros") and name not in _DURATIONS:
            return value + self.index * STRIDE_MICROS
        if name in _SERVERS:
            return self._server(value)
        if name in _OFFSETS_OF_METADATA or name in _OFFSETS_OF_QUORUM.get(table, ()):
            return self._metadata_offset(value)
        is_of_quorum = table == "quorum_samples" and name == "leader_epoch"
        if name in ("metadata_epoch", "offsets_partition") or is_of_quorum:
            return self._far(value)
        return value + self.index * 10_000_000 if name == "producer_id" else value

    def _metadata_offset(self, offset: int) -> int:
        return offset + self.index * METADATA_STRIDE if offset >= 0 else offset

    def _far(self, number: int) -> int:
        return number + self.index * PARTITIONS_EACH

    def _server(self, number: int) -> int:
        return number + self.index * BROKERS_EACH if number >= 0 else number


def universe_of(row: Row, began_micros: int) -> int | None:
    """Return the universe of a finding, by names, servers or time; None if it has none.

    Args:
        row: the finding, with its evidence decoded.
        began_micros: the least time in universe 0; earlier times belong to no universe.
    """
    evidence: Row = row["evidence"]
    for text in (row["topic"], row["group"], *evidence.values(), row["cause"]):
        found = PREFIX.search(text) if isinstance(text, str) else None
        if found:
            return int(found[1])
    for name in ("broker", "server", "leader"):
        if isinstance(evidence.get(name), int):
            return int(evidence[name]) // BROKERS_EACH
    servers = evidence.get("servers") or evidence.get("brokers")
    if isinstance(servers, list) and servers:
        return int(servers[0]) // BROKERS_EACH
    if row["partition"] is not None and str(row["topic"]).startswith(KAFKAS_OWN):
        return int(row["partition"]) // PARTITIONS_EACH
    if row["at"] is not None and row["at"] >= began_micros:
        return int(row["at"] - began_micros) // STRIDE_MICROS
    return None


def joined(parts: list[tuple[Genuine, Tables]]) -> tuple[Plan, Tables]:
    """One plan and one set of tables, each part in a universe of its own, in their order."""
    tables: Tables = {}
    topics: list[TopicPlan] = []
    groups: list[GroupPlan] = []
    earliest = min(genuine.run.started_micros for genuine, _ in parts)
    for index, (genuine, told) in enumerate(parts, FIRST):
        universe = Universe(index)
        back = earliest - genuine.run.started_micros
        for table, rows in universe.laid(_moved(told, back)).items():
            tables.setdefault(table, []).extend(rows)
        topics += universe.topics(genuine.plan)
        groups += universe.groups(genuine.plan)
    plan = msgspec.structs.replace(
        parts[0][0].plan, topics=topics, groups=groups, must_judge=[], expects=[]
    )
    return plan, tables


def _moved(tables: Tables, by_micros: int) -> Tables:
    """Rows as if the run had begun at another time."""
    return {
        table: [
            {
                name: value + by_micros
                if name.endswith("_micros") and name not in _DURATIONS and value is not None
                else value
                for name, value in row.items()
            }
            for row in rows
        ]
        for table, rows in tables.items()
    }
