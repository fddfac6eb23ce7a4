"""Resets, from what clients log: the only trace of a truncation that a policy handles."""

from collections.abc import Iterable
from typing import Any

from contract.clients import Client
from harness.decode.client_logs import java, kafka_python, librdkafka
from harness.decode.client_logs.lines import log_lines

_READERS = {
    Client.JAVA: java.read,
    Client.LIBRDKAFKA: librdkafka.read,
    Client.KAFKA_PYTHON: kafka_python.read,
}
"""By the client that a worker tells in its history."""


def resets(
    lines: Iterable[str], *, worker: str, policies: dict[str, str], client: str | None
) -> list[dict[str, Any]]:
    """Return rows of the table `resets`.

    Args:
        lines: of one worker's client log.
        worker: its name.
        policies: `auto.offset.reset` by group.
        client: the client that wrote the log; there are no rows unless it is a client under test.

    A reset whose target the client looked up has one row, with cause and target. One without a
        target (no policy: the client raised an exception) has no `to_offset`.
    """
    if client not in _READERS:
        return []
    found = _READERS[Client(client)](log_lines(lines))
    return [reset.row(worker=worker, policies=policies) for reset in found]
