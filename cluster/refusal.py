"""Pass the error that ended a process of a run to its caller, by a line of its output."""

from contextlib import suppress

import msgspec

from contract import errors
from contract.errors import FencepostError
from contract.events import as_json

_PREFIX = "fencepost-refused: "


def refuse(error: FencepostError) -> None:
    """Print an error on standard output for `refusal_in`."""
    described = as_json([type(error).__name__, str(error)]).decode()
    print(f"{_PREFIX}{described}", flush=True)


def refusal_in(lines: list[str]) -> FencepostError | None:
    """Return the first error that `refuse` printed in these lines; None if there is none.

    A line of another program is passed over, whatever it begins with.
    """
    for line in lines:
        if line.startswith(_PREFIX):
            with suppress(msgspec.DecodeError, AttributeError, TypeError):
                described = msgspec.json.decode(line.removeprefix(_PREFIX), type=tuple[str, str])
                return error_named(*described)
    return None


def error_named(name: str, message: str) -> FencepostError:
    """Build the error of the exception tree whose class has this name."""
    kind: type[FencepostError] = getattr(errors, name)
    return kind(message)
