"""The guest's protocol (docs/guests.md): a request a line on standard input, a response to each."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

RECORDS_MAX = 1000


class GuestError(Exception):
    """An error that a guest reports by itself."""

    def __init__(self, name: str, message: str) -> None:
        """The name is what the response has."""
        super().__init__(message)
        self.name = name


class Guest(Protocol):
    """One consumer; each method returns the fields of its response."""

    async def poll(self, timeout_ms: int) -> dict[str, Any]:
        """Return records, at the latest after a time."""

    async def commit(self) -> dict[str, Any]:
        """Commit what was returned."""

    async def close(self) -> dict[str, Any]:
        """Leave the group."""


async def serve(
    client: str,
    version: str,
    make: Callable[[dict[str, Any]], Awaitable[Guest]],
    *,
    refusals: tuple[type[Exception], ...] = (),
) -> None:
    """Respond to requests until close, or until the end of the input.

    Lines are read in a thread, since the client needs an event loop that goes on meanwhile.

    Args:
        client: the name of the library.
        version: the one that runs.
        make: opens the guest that a request asks for.
        refusals: errors of a commit that surely was not stored.
    """
    guest: Guest | None = None
    while line := await _line():
        request = json.loads(line)
        try:
            if request["do"] == "open":
                guest = await make(request)
                response: dict[str, Any] = {"client": client, "version": version}
            else:
                response = await _response(guest, request)
        except Exception as error:  # noqa: BLE001 - whatever the client reports
            name = error.name if isinstance(error, GuestError) else type(error).__name__
            response = {"error": {"name": name, "message": str(error)}}
            if isinstance(error, refusals):
                response["error"]["definite"] = True
        print(json.dumps({"id": request["id"], **response}), flush=True)
        if request["do"] == "close":
            return


async def _response(guest: Guest | None, request: dict[str, Any]) -> dict[str, Any]:
    match request["do"]:
        case "poll" if guest:
            return await guest.poll(request["timeout_ms"])
        case "commit" if guest:
            return await guest.commit()
        case "close" if guest:
            return await guest.close()
        case unknown:
            raise GuestError("UnknownRequest", unknown)


async def _line() -> str:
    return await asyncio.to_thread(sys.stdin.readline)
