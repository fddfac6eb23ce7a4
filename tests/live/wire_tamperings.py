"""Responses that a proxy changes: one for each rule of epoch_protocol, by Kafka's own setters."""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cluster.kafka.topology import CLIENT_PORT
from contract.protocol import Rule
from harness.java.jvm import java_class
from harness.wire.requests import (
    EARLIEST,
    Request,
    WireRequest,
    fetch,
    list_offsets,
    metadata,
    of_replica,
    offset_for_leader_epoch,
)
from scenarios.epoch_protocol_test import PER_EPOCH, READER, REPLICA, STRANGER, Epochs

NONE, OUT_OF_RANGE, NOT_LEADER, UNAUTHORIZED, INVALID_REQUEST = 0, 1, 6, 29, 42
FENCED, UNKNOWN = 74, 75
OTHER_ID = "b3RoZXItdG9waWMtaWQtMA"

Message = Any
Change = Callable[[Message], None]


@dataclass(frozen=True)
class WireTampering:
    """A request, and what the proxy makes of it and of its response.

    Attributes:
        rule: that the changed response breaks.
        request: of the client.
        change: changes the response's message.
        change_request: changes the request's message.
        broker: that the request is for.
        port: of the broker's listener.
        principal: as which the client logs in.
        also: further rules that the same response breaks.
        after: whether the request is sent after the first epoch was removed.
        names: by topic id, of topics that the client alone believes in.
    """

    rule: enum.StrEnum
    request: WireRequest
    change: Change | None = None
    change_request: Change | None = None
    broker: int = 1
    port: int = CLIENT_PORT
    principal: str | None = None
    also: tuple[enum.StrEnum, ...] = ()
    after: bool = False
    names: Mapping[str, str] = field(default_factory=dict)


def tamperings(epochs: Epochs, topic_id: str) -> list[WireTampering]:
    """Return all tamperings, those before the removal first."""
    found = [
        *_of_validation(epochs, topic_id),
        *_of_authorization(epochs),
        *_ends(epochs, topic_id),
    ]
    return sorted([*found, *_of_reports(epochs)], key=lambda tampering: tampering.after)


def _of_validation(epochs: Epochs, topic_id: str) -> list[WireTampering]:
    fetched = partial(_at, fetch, 18, topic_id=topic_id)
    replica = partial(_at, of_replica(fetch, 2), 18, topic_id=topic_id)
    listed = partial(_at, list_offsets, 9)
    end = partial(_at, offset_for_leader_epoch, 4, epoch=epochs.first)
    older, newer = epochs.skipped, epochs.unknown
    return [
        WireTampering(Rule.OLDER_EPOCH, fetched(older), partition(errorCode=NONE)),
        WireTampering(Rule.NEWER_EPOCH, fetched(newer), partition(errorCode=FENCED)),
        WireTampering(Rule.LEADER_EPOCH, fetched(epochs.current), partition(errorCode=FENCED)),
        WireTampering(Rule.NO_EPOCH, fetched(-1), partition(errorCode=UNKNOWN)),
        WireTampering(Rule.VERSION_WITHOUT_EPOCH, _at(fetch, 8, -1), partition(errorCode=FENCED)),
        WireTampering(Rule.FOLLOWER, end(older), partition(errorCode=NOT_LEADER), broker=2),
        WireTampering(Rule.REPLICA, replica(older), partition(errorCode=NONE)),
        WireTampering(
            Rule.RETRIABLE,
            listed(older),
            partition(errorCode=INVALID_REQUEST),
            also=(Rule.OLDER_EPOCH,),
        ),
    ]


def _of_authorization(epochs: Epochs) -> list[WireTampering]:
    asked = _at(offset_for_leader_epoch, 4, -1, epoch=epochs.first)
    refused = partition(errorCode=UNAUTHORIZED, leaderEpoch=-1, endOffset=-1)
    served = partition(errorCode=NONE, leaderEpoch=epochs.first, endOffset=PER_EPOCH)
    return [
        WireTampering(Rule.DESCRIBE, asked, refused, principal=READER),
        WireTampering(Rule.CLUSTER_ACTION, asked, refused, principal=REPLICA),
        WireTampering(Rule.UNAUTHORIZED, asked, served, principal=STRANGER),
    ]


def _ends(epochs: Epochs, topic_id: str) -> list[WireTampering]:
    end = partial(_at, offset_for_leader_epoch, 4, epochs.current)
    fetched = partial(_at, fetch, 18, epochs.current, topic_id=topic_id)
    diverged = fetched(last_fetched_epoch=epochs.first, offset=PER_EPOCH + 10)
    fits = fetched(last_fetched_epoch=epochs.second, offset=2 * PER_EPOCH)
    below = fetched(last_fetched_epoch=epochs.first, offset=PER_EPOCH)
    unknown = fetched(last_fetched_epoch=epochs.unknown, offset=2 * PER_EPOCH)
    return [
        WireTampering(Rule.END_OF_LATEST, end(epoch=epochs.current), end_offset(-1)),
        WireTampering(Rule.END_OF_KNOWN, end(epoch=epochs.first), end_offset(1)),
        WireTampering(
            Rule.END_OF_SKIPPED, end(epoch=epochs.skipped), partition(leaderEpoch=epochs.skipped)
        ),
        WireTampering(Rule.END_OF_REMOVED, end(epoch=epochs.first), end_offset(-10), after=True),
        WireTampering(
            Rule.END_OF_UNKNOWN,
            end(epoch=epochs.unknown),
            partition(leaderEpoch=epochs.current, endOffset=3 * PER_EPOCH),
        ),
        WireTampering(Rule.DIVERGENCE, diverged, divergence(-1, -1)),
        WireTampering(Rule.NO_DIVERGENCE, fits, divergence(epochs.second, 2 * PER_EPOCH - 10)),
        WireTampering(Rule.UNKNOWN_LAST_FETCHED, unknown, partition(errorCode=NONE)),
        WireTampering(Rule.BELOW_LOG_START, below, partition(errorCode=NONE), after=True),
        WireTampering(Rule.THROTTLE_TIME, end(epoch=epochs.first), whole(throttleTimeMs=-1)),
        WireTampering(Rule.SCHEMA, end(epoch=epochs.first), no_partition),
        WireTampering(Rule.SCHEMA, fits, other_id(OTHER_ID)),
    ]


def _of_reports(epochs: Epochs) -> list[WireTampering]:
    listed = _at(list_offsets, 9, epochs.current, timestamp=EARLIEST)
    older = partition(leaderEpoch=epochs.second)
    return [
        WireTampering(Rule.EPOCH_OF_LEADER, metadata(topic="orders", version=12), older),
        WireTampering(Rule.EPOCH_OF_LEADER, metadata(topic="orders", version=12),
                partition(leaderEpoch=-1), broker=3),
        WireTampering(Rule.EPOCH_OF_OFFSET, listed, partition(leaderEpoch=-1)),
    ]  # fmt: skip


def _at(request: Request, version: int, current_leader_epoch: int, **fields: Any) -> WireRequest:
    return request(
        topic="orders", version=version, current_leader_epoch=current_leader_epoch, **fields
    )


def _topic(message: Message) -> Message:
    topics = message.responses() if hasattr(message, "responses") else message.topics()
    return topics.iterator().next()


def _set(message: Message, values: dict[str, Any]) -> None:
    for name, value in values.items():
        getattr(message, f"set{name[0].upper()}{name[1:]}")(value)


def partition(number: int | None = None, /, **values: Any) -> Change:
    """Set fields of a partition: the one with this number, or the first."""

    def change(message: Message) -> None:
        found = _topic(message).partitions()
        chosen = [
            answer for answer in found if number is None or int(answer.partitionIndex()) == number
        ]
        _set(chosen[0], values)

    return change


def whole(**values: Any) -> Change:
    """Set fields of a request or a response."""
    return lambda message: _set(message, values)


def end_offset(more: int) -> Change:
    """Move the end offset of the response's only partition."""

    def change(message: Message) -> None:
        found = _topic(message).partitions().get(0)
        found.setEndOffset(int(found.endOffset()) + more)

    return change


def divergence(epoch: int, offset: int) -> Change:
    """Report another divergence of a Fetch; -1: none."""

    def change(message: Message) -> None:
        kind = java_class("org.apache.kafka.common.message.FetchResponseData$EpochEndOffset")
        diverged = kind().setEpoch(epoch).setEndOffset(offset)
        _topic(message).partitions().get(0).setDivergingEpoch(diverged)

    return change


def no_partition(message: Message) -> None:
    """Leave out the partition."""
    _topic(message).partitions().clear()


def other_id(topic_id: str) -> Change:
    """Give the topic another id, as that of a deleted topic."""

    def change(message: Message) -> None:
        _topic(message).setTopicId(java_class("org.apache.kafka.common.Uuid").fromString(topic_id))

    return change
