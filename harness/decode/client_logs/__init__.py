"""Resets, from the clients' logs: the only trace of a truncation that a reset policy handles.

The reader of a client's log is `read` in the module that is named as `Client.module`. It returns
the resets in the log lines of members.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from contract.software import INSTALLED, Client
from harness.decode.client_logs.lines import LogLine, Reset, log_lines

Reader = Callable[[Iterable[LogLine]], list[Reset]]


def reader_of(client: Client) -> Reader:
    """Return the reader of a client's log."""
    reader: Reader = import_module(f"{__name__}.{client.module}").read
    return reader


def resets(
    lines: Iterable[str], *, worker: str, policies: dict[str, str], client: str | None
) -> list[dict[str, Any]]:
    """Return rows of the table `resets`.

    Args:
        lines: of one worker's client log.
        worker: its name.
        policies: `auto.offset.reset` by group.
        client: the client that wrote the log; there are no rows unless it is one that is installed.

    A reset whose target the client looked up has one row, with cause and target. One without a
        target (no policy: the client raised an exception) has no `to_offset`.
    """
    known = {str(installed): installed for installed in INSTALLED}.get(client or "")
    if known is None:
        return []
    found = reader_of(known)(log_lines(lines))
    return [reset.row(worker=worker, policies=policies) for reset in found]
