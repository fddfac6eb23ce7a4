"""Verbs of commits by single requests, and of what groups and producers have."""

from collections.abc import Mapping
from typing import Any

from tests.exam.history import History
from tests.exam.verbs import cluster

COMMIT, FETCH = "OFFSET_COMMIT", "OFFSET_FETCH"
COMMITTED = 40.0


def with_topic(h: History) -> None:
    """A topic of one partition, which broker 1 leads."""
    h.topic()
    cluster(h)


def asked(
    h: History,
    api: str,
    version: int,
    *,
    error: int = 0,
    at: float = COMMITTED,
    member: str = "",
    generation: int = -1,
    topic: str = "t",
    metadata_bytes: int = 0,
    **columns: Any,
) -> None:
    """A commit of 50 with epoch 0 and its response, or an OffsetFetch."""
    of_commit = {"asked_offset": 50, "asked_epoch": 0, "metadata": "m" * metadata_bytes or "made"}
    h.called(
        1,
        api,
        version,
        at=at,
        error=error,
        topic=topic,
        group=h.own("g"),
        member=h.own(member),
        generation=generation,
        throttle_ms=0,
        **({"offset": -1, "epoch": -1} if api == FETCH else of_commit) | columns,
    )


def asked_together(h: History, api: str, version: int, *partitions: tuple[int, int]) -> None:
    """One request about several partitions, by a member of generation 0, with their errors."""
    for partition, error in partitions:
        asked(h, api, version, partition=partition, member="m", generation=0, error=error)
    rows = h.rows["wire_calls"]
    for row in rows:
        row["seq"] = rows[0]["seq"]


def committed(
    h: History,
    api: str,
    version: int,
    *,
    member: str = "",
    generation: int = -1,
    producer: int | None = None,
    producer_epoch: int = 0,
    topic_id: str | None = None,
    **columns: Any,
) -> None:
    """A commit that is accepted and stored."""
    number = len(h.rows["wire_calls"])
    of_producer: dict[str, Any] = {}
    if producer is not None:
        own = h.place.producer_id(producer)
        of_producer = {"producer_id": own, "producer_epoch": producer_epoch}
    name = {"metadata": f"made {number}"}
    asked(
        h,
        api,
        version,
        member=member,
        generation=generation,
        **({"topic_id": topic_id} | ({} if "metadata_bytes" in columns else name) | columns),
        **of_producer,
    )
    values = {"topic_id": topic_id, "value_version": 4 if topic_id else 3}
    if of_producer:
        values |= of_producer | {"marker": "commit", "marker_micros": h.at(COMMITTED + 1)}
    commit_stored(h, **name, **values)


def commit_stored(
    h: History,
    *,
    at: float = COMMITTED,
    offset: int = 50,
    metadata_bytes: int = 0,
    **columns: Any,
) -> None:
    """A record of `__consumer_offsets`, stored 2 ms before `at`."""
    h.stored(offset, 0, at=at - 0.002)
    epoch, metadata = columns.pop("epoch", 0), "m" * metadata_bytes or "made"
    values = {"committed_epoch": epoch, "metadata": metadata, "value_version": 3}
    h.rows["committed_offsets"][-1].update(values | columns)


def member_stored(
    h: History,
    protocol: str,
    generation: int | None,
    *,
    at: float = 20.0,
    member: str = "m",
    client_id: str | None = None,
    state: str | None = None,
    is_pending: bool = False,
    assigned: int | None = None,
    limits: Mapping[str, Any] | None = None,
    **columns: Any,
) -> None:
    """A member of the group, as it is stored; "": the group is empty.

    limits: columns of its metadata. is_pending: it has to revoke the partition. assigned: the
    partition that the assignment of its generation gives to it.
    """
    who = {"group": h.own("g"), "member": h.own(member)}
    if client_id is not None:
        metadata = who | {"client_id": h.own(client_id), **(limits or {})}
        if metadata not in h.rows["member_metadata"]:
            h.add("member_metadata", **metadata)
    place = {"offsets_partition": h.index, "offsets_offset": h.at(at) // 1000 % 10**9}
    if assigned is not None:
        given = {"protocol": protocol, "topic": h.own("t"), "partition": assigned}
        h.add("group_assignments", **who, **given, at_micros=h.at(at), **place)
    if state is not None:
        pending = {
            key: columns.get(key) if is_pending else None for key in ("topic_id", "partition")
        }
        h.add(
            "member_states",
            **who, state=state, previous_epoch=(generation or 0) - 1, **pending, **place,
        )  # fmt: skip
    h.add(
        "group_members",
        **who,
        protocol=protocol,
        generation=generation,
        at_micros=h.at(at),
        **place | columns,
    )


def epoch_granted(h: History, epoch: int) -> None:
    """Producer id 7 of this history gets an epoch."""
    h.called(
        1,
        "INIT_PRODUCER_ID",
        4,
        at=30.0,
        producer_id=h.place.producer_id(7),
        producer_epoch=epoch,
        throttle_ms=0,
    )
    h.rows["wire_calls"][-1].update(topic=None, partition=None)


def fetched(h: History, *, at: float = COMMITTED + 10, error: int = 0, **columns: Any) -> None:
    """What broker 1 returns to an OffsetFetch: a commit of 50 with epoch 0."""
    found = {"offset": 50, "epoch": 0, "metadata": "made"}
    h.called(1, FETCH, 8, at=at, error=error, group=h.own("g"), throttle_ms=0, **(found | columns))
