"""Many lies in one trace: each in a copy of its genuine run, with names and times of its own."""

import re
from dataclasses import dataclass

import msgspec

from bench.lies.genuine import Genuine, Row, Tables
from contract.run_folder import GroupPlan, Plan, TopicPlan

STRIDE_MICROS = 3600 * 1_000_000
"""Between the beginnings of two universes; a run is shorter."""
BROKERS_EACH = 10
"""Numbers of servers that a universe may use."""
PREFIX = re.compile(r"u(\d{3})\.")

_NAMES = (
    "worker", "group", "member", "topic", "producer", "value", "transactional_id", "topic_id",
    "node",
)  # fmt: skip
_SERVERS = ("broker", "leader", "server")
_LISTS_OF_SERVERS = ("replicas", "isr", "elr", "brokers")
_OFFSETS_OF_METADATA = ("metadata_offset", "broker_epoch")
_DURATIONS = ("ahead_micros", "behind_micros", "clock_jump_micros")
_KAFKAS_OWN = "__"
_BROKER_IN_TARGET = re.compile(r"(?<=[( ])(\d+)(?=[,)])")
_TOPIC_IN_TARGET = re.compile(r"(?<=[:,])([A-Za-z][\w.]*)(?=-\d)")


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
        if row.get("topic", "") and row["topic"].startswith(_KAFKAS_OWN):
            laid["topic"], laid["partition"] = row["topic"], self._far(row["partition"])
        if table == "faults":
            laid["target"] = self._target(row["target"])
        if table == "servers":
            laid["name"] = self.prefix + row["name"]
        return laid

    def _value(self, table: str, name: str, value: object) -> object:
        laid = value
        if isinstance(value, str):
            laid = self.prefix + value if name in _NAMES and value else value
        elif isinstance(value, list):
            laid = [self._server(one) for one in value] if name in _LISTS_OF_SERVERS else value
        elif isinstance(value, int) and value >= 0:
            laid = self._number(table, name, value)
        return laid

    def _number(self, table: str, name: str, value: int) -> int:
        if name.endswith("_micros") and name not in _DURATIONS:
            return value + self.index * STRIDE_MICROS
        if name in _SERVERS:
            return self._server(value)
        is_of_metadata = table == "metadata_batches" and name in ("base_offset", "last_offset")
        if name in _OFFSETS_OF_METADATA or is_of_metadata:
            return value + self.index * 1_000_000
        if name in ("metadata_epoch", "offsets_partition"):
            return self._far(value)
        return value + self.index * 10_000_000 if name == "producer_id" else value

    def _far(self, number: int) -> int:
        return number + self.index * 1000

    def _server(self, number: int) -> int:
        return number + self.index * BROKERS_EACH if number >= 0 else number

    def _target(self, target: str) -> str:
        named = _TOPIC_IN_TARGET.sub(lambda found: self.prefix + found[1], target)
        return _BROKER_IN_TARGET.sub(lambda found: str(self._server(int(found[1]))), named)


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
    if row["partition"] is not None and str(row["topic"]).startswith(_KAFKAS_OWN):
        return int(row["partition"]) // 1000
    if row["at"] is not None and row["at"] >= began_micros:
        return int(row["at"] - began_micros) // STRIDE_MICROS
    return None


def joined(parts: list[tuple[Genuine, Tables]]) -> tuple[Plan, Tables]:
    """One plan and one set of tables, each part in a universe of its own, in their order."""
    tables: Tables = {}
    topics: list[TopicPlan] = []
    groups: list[GroupPlan] = []
    earliest = min(genuine.run.started_micros for genuine, _ in parts)
    for index, (genuine, told) in enumerate(parts):
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
