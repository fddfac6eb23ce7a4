"""An extra member of a consumer group: it joins and leaves, so that the group rebalances twice."""

from typing import Any

from contract.errors import WorkerError
from contract.waiting import wait_until
from harness.clients.admin import AdminClient
from harness.clients.observer_commands import GroupView, JoinAndLeave, JoinedAndLeft
from harness.java.jvm import java_class, java_list, java_properties

EXTRA_MEMBER = "fencepost-extra-member"
"""The extra member's client.id."""

_STABLE = "Stable"
_CONSUMER = "Consumer"
_STRING_DESERIALIZER = "org.apache.kafka.common.serialization.StringDeserializer"
_POLL_MS = 100


def join_and_leave(order: JoinAndLeave, *, admin: AdminClient, bootstrap: str) -> JoinedAndLeft:
    """Join a group, wait until it is stable, leave, and wait until it is stable again.

    Raises:
        WorkerError: the group is not stable, or has no partitions.
        WaitTimeoutError: it did not become stable; its members must poll.
    """
    before = admin.describe_group(order.group)
    topics = {name.rpartition("-")[0] for one in before.members for name in one.partitions}
    if before.state != _STABLE or not topics:
        raise WorkerError(f"group {order.group} is not stable, or has no partitions: {before}")
    extra = _open(order.group, before, bootstrap=bootstrap)
    try:
        extra.subscribe(java_list(sorted(topics)))

        def settled() -> GroupView | None:
            extra.poll(java_class("java.time.Duration").ofMillis(_POLL_MS))
            return _stable(admin, order.group, has_extra=True)

        meanwhile = _await(settled, f"{order.group} to be stable with the extra member", order)
        generation = int(extra.groupMetadata().generationId())
    finally:
        extra.close()
    after = _await(
        lambda: _stable(admin, order.group, has_extra=False),
        f"{order.group} to be stable without the extra member",
        order,
    )
    return JoinedAndLeft(generation=generation, before=before, meanwhile=meanwhile, after=after)


def _stable(admin: AdminClient, group: str, *, has_extra: bool) -> GroupView | None:
    view = admin.describe_group(group)
    is_there = any(member.client == EXTRA_MEMBER for member in view.members)
    return view if view.state == _STABLE and is_there == has_extra else None


def _await(probe: Any, what: str, order: JoinAndLeave) -> GroupView:
    found: GroupView = wait_until(
        probe, what=what, timeout_seconds=order.timeout_seconds, hint="do its members poll?"
    )
    return found


def _open(group: str, view: GroupView, *, bootstrap: str) -> Any:
    protocol = {"group.protocol": "consumer"} if view.type == _CONSUMER else {}
    return java_class("org.apache.kafka.clients.consumer.KafkaConsumer")(
        java_properties(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "client.id": EXTRA_MEMBER,
                "enable.auto.commit": "false",
                "key.deserializer": _STRING_DESERIALIZER,
                "value.deserializer": _STRING_DESERIALIZER,
                **protocol,
            }
        )
    )
