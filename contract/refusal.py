"""How a process within a run tells its caller, by a line of its output, which error ended it."""

import msgspec

from contract import errors
from contract.errors import FencepostError

_PREFIX = "fencepost-refused: "


def refuse(error: FencepostError) -> None:
    """Tell an error on standard output, for `refusal_in` to find."""
    described = msgspec.json.encode([type(error).__name__, str(error)]).decode()
    print(f"{_PREFIX}{described}", flush=True)


def refusal_in(lines: list[str]) -> FencepostError | None:
    """The first error that `refuse` told in these lines of output."""
    for line in lines:
        if line.startswith(_PREFIX):
            return error_named(
                *msgspec.json.decode(line.removeprefix(_PREFIX), type=tuple[str, str])
            )
    return None


def error_named(name: str, message: str) -> FencepostError:
    """The error of the exception tree whose class has this name, as another process described it."""
    kind: type[FencepostError] = getattr(errors, name)
    return kind(message)
