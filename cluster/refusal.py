"""Pass the error that ended a process of a session to its owner, as a report."""

from collections.abc import Iterable
from contextlib import suppress

import msgspec

from cluster.reports import report
from contract.errors import FencepostError, error_named
from contract.events import as_json

_PREFIX = "fencepost-refused: "


def refuse(error: FencepostError) -> None:
    """Report an error for `refusal_in`."""
    described = as_json([type(error).__name__, str(error)]).decode()
    report(f"{_PREFIX}{described}")


def refusal_in(reports: Iterable[str]) -> FencepostError | None:
    """Return the first error that `refuse` reported; None if there is none."""
    for line in reports:
        if line.startswith(_PREFIX):
            with suppress(msgspec.DecodeError, KeyError, TypeError):
                described = msgspec.json.decode(line.removeprefix(_PREFIX), type=tuple[str, str])
                return error_named(*described)
    return None
