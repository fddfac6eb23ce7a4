"""Where readers begin at a new coordinator: the stories of returned_reader, for docs/handover.md.

A story is one change of the coordinator of one group.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from bench.figures import grouped, replaced
from bench.traces import opened
from contract.run_folder import RunFolder

SCENARIO = "returned_reader"
NAME = "returned_reader"
_STATEMENT = Path(__file__).with_name("handover_readers.sql")


class Reader(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One group's second member, which began when the coordinator had changed.

    client: with its version.
    has: what the group had committed before its last commit.
    is_reached: the new coordinator had returned an older commit, or none, to a plain request.
    began_at: None: it got nothing, and had no position.
    next_offset: of its first commit; None: it stored none.
    """

    client: str
    kafka: str
    begins: str
    has: str
    reset: str
    isolation: str
    seed: int
    is_reached: bool
    due_offset: int
    began_at: int | None
    next_offset: int | None


def readers_of(run: RunFolder) -> Iterator[Reader]:
    """Yield the stories of a run; those that it did not come to are none."""
    described = run.run()
    groups = {group.group: group for group in run.plan().groups}
    with opened(run) as trace:
        rows = trace.ask(_STATEMENT.read_text(encoding="utf-8"))
    for row in rows:
        group = groups[row.pop("group")]
        given = {
            "client": f"{group.client} {described.clients[group.client]}",
            "kafka": described.kafka,
            "seed": described.seed,
            "begins": group.labels["begins"],
            "has": group.labels["has"],
            "reset": group.reset,
            "isolation": group.isolation_level,
        }
        yield msgspec.convert(given | row, Reader)


def together(before: Iterable[Reader], found: Sequence[Reader]) -> list[Reader]:
    """Return all stories; those of a run that is read again take the place of its former ones."""
    every = replaced(before, found, lambda one: (one.kafka, one.seed))
    return sorted(every, key=lambda one: (*_kind(one), one.seed))


def _kind(one: Reader) -> tuple[str, ...]:
    return one.client, one.begins, one.isolation, one.has, one.reset, one.kafka


def counted(readers: Iterable[Reader]) -> list[dict[str, str]]:
    """A row for each kind of reader and version: where it began, and what it committed next."""
    return [
        {
            "client": client,
            "begins": begins,
            "isolation": isolation,
            "has": has,
            "reset": reset,
            "kafka": kafka,
            "reached": f"{sum(one.is_reached for one in of)} of {len(of)}",
            "began": _by_value([one.began_at for one in of]),
            "next": _by_value([one.next_offset for one in of]),
            "seeds": ", ".join(str(one.seed) for one in of),
        }
        for (client, begins, isolation, has, reset, kafka), of in grouped(readers, _kind)
    ]


def _by_value(offsets: Sequence[int | None]) -> str:
    every = Counter("nothing" if one is None else str(one) for one in offsets)
    return ", ".join(f"{what}: {count} of {len(offsets)}" for what, count in every.items())
