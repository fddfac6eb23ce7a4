"""The pairwise table: every pair of style, manner, hazard, reset, protocol, Kafka and build."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cache

import msgspec

from cluster.kafka.patched import patches
from contract.clients import Client, clients_of
from contract.outcomes import CommitEpoch, Manner, ResetPolicy
from scenarios.commit_hazards_test import HAZARDS
from scenarios.commit_ways import PROTOCOLS, WAYS, Way, group_name
from studies.arbiter.pairs import Row, covering
from studies.arbiter.rows import RELEASED

KAFKAS = ("3.9.2", "4.4.0")
"""The released clients of the table; patches come with their own versions."""
_SEED = 19902


class TableRow(msgspec.Struct, frozen=True, kw_only=True):
    """A group under a hazard, with one build of the client.

    topic: with the hazard, e.g. `truncated/above`.
    """

    topic: str
    way: Way
    reset: ResetPolicy
    protocol: Client
    kafka: str
    build: str

    @property
    def style(self) -> CommitEpoch:
        """The epoch that it commits."""
        return self.way[0]

    @property
    def manner(self) -> Manner:
        """How it commits."""
        return self.way[1]

    @property
    def hazard(self) -> str:
        """The hazard of its run."""
        return self.topic.partition("/")[0]

    @property
    def group(self) -> str:
        """The name of its group."""
        return group_name(
            self.topic.partition("/")[2], self.protocol, (self.style, self.manner), self.reset
        )


@cache
def table() -> tuple[TableRow, ...]:
    """Return the rows, always the same ones for the same hazards, ways and patches."""
    found = covering(
        {
            "topic": [
                f"{hazard}/{topic}" for hazard, topics in HAZARDS.items() for topic in topics
            ],
            "way": list(WAYS),
            "client": list(_clients()),
            "reset": list(ResetPolicy),
            "protocol": list(PROTOCOLS),
        },
        _is_allowed,
        seed=_SEED,
    )
    return tuple(_row(one) for one in found)


def by_run() -> dict[tuple[str, str, str], list[TableRow]]:
    """Return the rows by (hazard, kafka, build): those of a run share its elections."""
    runs: defaultdict[tuple[str, str, str], list[TableRow]] = defaultdict(list)
    for row in table():
        runs[row.hazard, row.kafka, row.build].append(row)
    return dict(sorted(runs.items()))


def _clients() -> Iterator[tuple[str, str]]:
    """Return (kafka, build): the released clients, and each patch with the release that it fits."""
    yield from ((kafka, RELEASED) for kafka in KAFKAS)
    patched = [(patch.version, patch.name) for patch in patches()]
    yield from sorted({(kafka, RELEASED) for kafka, _ in patched if kafka not in KAFKAS})
    yield from patched


def _is_allowed(part: Row) -> bool:
    """Whether the protocol is one that the client has."""
    client, protocol = part.get("client"), part.get("protocol")
    if client is None or protocol is None:
        return True
    kafka, _ = msgspec.convert(client, tuple[str, str])
    return protocol in clients_of(kafka)


def _row(one: Row) -> TableRow:
    kafka, build = msgspec.convert(one["client"], tuple[str, str])
    return msgspec.convert(
        {**{name: one[name] for name in one if name != "client"}, "kafka": kafka, "build": build},
        TableRow,
    )
