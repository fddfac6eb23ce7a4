"""A guest in a consumer group: it joins, and leaves again, so that the group rebalances twice."""

from typing import Any

from contract.errors import WorkerError
from contract.waiting import wait_until
from harness.clients.admin import AdminClient
from harness.clients.observer_commands import GroupView, Visit, VisitGroup
from harness.java.jvm import java_class, java_list, java_properties

GUEST = "fencepost-guest"
"""The guest's client.id."""

_STABLE = "Stable"
_CONSUMER = "Consumer"
_STRING_DESERIALIZER = "org.apache.kafka.common.serialization.StringDeserializer"
_POLL_MS = 100


def visit(order: VisitGroup, *, admin: AdminClient, bootstrap: str) -> Visit:
    """Join a group until it is stable with the guest in it, leave, and await it stable without.

    Raises:
        WorkerError: the group is not stable, or has no partitions.
        WaitTimeoutError: it did not come to rest; are its members polling?
    """
    before = admin.describe_group(order.group)
    topics = {name.rpartition("-")[0] for one in before.members for name in one.partitions}
    if before.state != _STABLE or not topics:
        raise WorkerError(f"group {order.group} can't be visited: {before}")
    guest = _open(order.group, before, bootstrap=bootstrap)
    try:
        guest.subscribe(java_list(sorted(topics)))

        def settled() -> GroupView | None:
            guest.poll(java_class("java.time.Duration").ofMillis(_POLL_MS))
            return _stable(admin, order.group, has_guest=True)

        meanwhile = _await(settled, f"{order.group} to be stable with a guest", order)
        generation = int(guest.groupMetadata().generationId())
    finally:
        guest.close()
    after = _await(
        lambda: _stable(admin, order.group, has_guest=False),
        f"{order.group} to be stable without its guest",
        order,
    )
    return Visit(generation=generation, before=before, meanwhile=meanwhile, after=after)


def _stable(admin: AdminClient, group: str, *, has_guest: bool) -> GroupView | None:
    view = admin.describe_group(group)
    is_there = any(member.client == GUEST for member in view.members)
    return view if view.state == _STABLE and is_there == has_guest else None


def _await(probe: Any, what: str, order: VisitGroup) -> GroupView:
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
                "client.id": GUEST,
                "enable.auto.commit": "false",
                "key.deserializer": _STRING_DESERIALIZER,
                "value.deserializer": _STRING_DESERIALIZER,
                **protocol,
            }
        )
    )
