"""Requests to controllers, in the names of Kafka's message schemas; they need no JVM."""

from harness.wire.requests import WireRequest

_QUOTA = 1_000_000_000.0


def alter_quota(user: str, *, version: int = 1) -> WireRequest:
    """Set the quota of one user: an entry of the metadata log that concerns no topic."""
    entry = {
        "entity": [{"entityType": "user", "entityName": user}],
        "ops": [{"key": "producer_byte_rate", "value": _QUOTA, "remove": False}],
    }
    fields = {"entries": [entry], "validateOnly": False}
    return WireRequest(api="ALTER_CLIENT_QUOTAS", version=version, fields=fields)
