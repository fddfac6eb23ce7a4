"""Command lines as they work when they are pasted into a shell."""

import shlex
import shutil
import sys
from pathlib import Path

_PROGRAM = "fencepost"


def command_to_paste(command: str) -> str:
    """A command line of `fencepost`, with the path of this installation's program where needed."""
    name, space, rest = command.partition(" ")
    own = Path(sys.executable).with_name(_PROGRAM)
    found = shutil.which(_PROGRAM)
    is_found = found is not None and Path(found).resolve() == own.resolve()
    if name != _PROGRAM or is_found or not own.exists():
        return command
    return f"{shlex.quote(str(own))}{space}{rest}"
