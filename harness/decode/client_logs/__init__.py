"""Resets, from what clients log: the only trace of a truncation that a policy handles.

Each client's log has its reader in the module of the client's own `Client.module`: `read`, from the
lines in which members speak to the resets that they tell of.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from contract.clients import Client
from harness.decode.client_logs.lines import Reset, Told, told_lines

Reader = Callable[[Iterable[Told]], list[Reset]]


def reader_of(client: Client) -> Reader:
    """The reader of a client's log."""
    reader: Reader = import_module(f"{__name__}.{client.module}").read
    return reader


def resets(
    lines: Iterable[str], *, worker: str, policies: dict[str, str], client: str | None
) -> list[dict[str, Any]]:
    """Rows of the table `resets`.

    Args:
        lines: of one worker's client log.
        worker: whose.
        policies: `auto.offset.reset` by group.
        client: whose log it is; one that is no client under test has no rows.

    A reset whose target the client looked up appears once, with cause and target together; one
    that nothing followed (no policy: the client raised) has no `to_offset`.
    """
    known = {str(one): one for one in Client}.get(client or "")
    if known is None:
        return []
    found = reader_of(known)(told_lines(lines))
    return [reset.row(worker=worker, policies=policies) for reset in found]
