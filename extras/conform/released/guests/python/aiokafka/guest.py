"""A guest around aiokafka's AIOKafkaConsumer (docs/guests.md).

The client shows its assignment and its positions. Its records and commits have no leader epoch:
`OffsetAndMetadata` has none, and a Fetch sends -1.
"""

import asyncio
import logging
import sys
from typing import Any

import aiokafka
from aiokafka.errors import CommitFailedError, IllegalStateError
from lines import RECORDS_MAX, GuestError, serve

_SETTINGS = (
    "session_timeout_ms",
    "heartbeat_interval_ms",
    "rebalance_timeout_ms",
    "max_poll_interval_ms",
    "auto_commit_interval_ms",
    "metadata_max_age_ms",
    "request_timeout_ms",
)
_POSITION_SECONDS = 0.01
"""For a partition that has no position yet."""


class _Listener(aiokafka.ConsumerRebalanceListener):
    def __init__(self) -> None:
        self.was_assigned = False

    def on_partitions_revoked(self, _revoked: Any) -> None:
        """Nothing is committed here: explicit commits are those that are requested."""

    def on_partitions_assigned(self, _assigned: Any) -> None:
        self.was_assigned = True


class AiokafkaGuest:
    """One consumer."""

    def __init__(self, request: dict[str, Any]) -> None:
        """Make it; the event loop runs."""
        settings = request["settings"]
        for name in settings:
            if name not in _SETTINGS:
                raise GuestError("UnknownSetting", name)
        self._listener = _Listener()
        self._topic = request["topic"]
        self._consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=request["bootstrap"],
            group_id=request["group"],
            client_id=request["member"],
            auto_offset_reset=request["reset"],
            isolation_level=request["isolation"],
            enable_auto_commit=request["commit"] == "automatic",
            **settings,
        )

    @classmethod
    async def open(cls, request: dict[str, Any]) -> "AiokafkaGuest":
        """Connect, and subscribe."""
        guest = cls(request)
        guest._consumer.subscribe([guest._topic], listener=guest._listener)
        await guest._consumer.start()
        return guest

    async def poll(self, timeout_ms: int) -> dict[str, Any]:
        """Return what one call of getmany returns."""
        polled = await self._consumer.getmany(timeout_ms=timeout_ms, max_records=RECORDS_MAX)
        records = [
            {
                "partition": record.partition,
                "offset": record.offset,
                "value": (record.value or b"").decode(),
            }
            for records in polled.values()
            for record in records
        ]
        rebalanced, self._listener.was_assigned = self._listener.was_assigned, False
        return {
            "records": records,
            "assigned": sorted(tp.partition for tp in self._consumer.assignment()),
            "positions": await self._positions(),
            "rebalanced": rebalanced,
        }

    async def _positions(self) -> list[dict[str, int]]:
        found = []
        for tp in sorted(self._consumer.assignment()):
            try:
                offset = await asyncio.wait_for(self._consumer.position(tp), _POSITION_SECONDS)
            except (TimeoutError, IllegalStateError):
                continue
            found.append({"partition": tp.partition, "offset": offset})
        return found

    async def commit(self) -> dict[str, Any]:
        """Commit the positions, which the client does in a call without arguments."""
        positions = await self._positions()
        await self._consumer.commit()
        return {"committed": positions}

    async def close(self) -> dict[str, Any]:
        """Leave the group; automatic commits are made before."""
        await self._consumer.stop()
        return {}


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s")
    asyncio.run(
        serve("aiokafka", aiokafka.__version__, AiokafkaGuest.open, refusals=(CommitFailedError,))
    )
