"""Which folder a session of ducktape gets: one that no other session has, nor gets meanwhile."""

import fcntl
import re
import time
from pathlib import Path

_LOCK = "names.lock"
_RESERVED = "session-folder"
_LAST_SESSION = Path(".ducktape") / "metadata" / "session_id"
"""Where ducktape keeps the last session's id, below its working directory."""


def reserve_session(results: Path, root: Path) -> Path:
    """Choose the folder of a new session, and let ducktape choose the same one.

    ducktape counts on from the id that a file in its working directory has. It fails if that file
    is damaged, or if the folder exists, as it does where a results folder was copied, or where two
    sessions begin at once. So each session gets a working directory, and a file, of its own.

    Args:
        results: where the folder will be made.
        root: of the session's nodes; ducktape's working directory.
    """
    results.mkdir(parents=True, exist_ok=True)
    day = time.strftime("%Y-%m-%d")
    with (root.parent / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        reserved = [Path(file.read_text()) for file in root.parent.glob(f"*/{_RESERVED}")]
        there = [*results.iterdir(), *(path for path in reserved if path.parent == results)]
        matches = [re.fullmatch(rf"{day}--([0-9]{{3,9}})", path.name) for path in there]
        number = 1 + max((int(match[1]) for match in matches if match), default=0)
        folder = results / f"{day}--{number:03}"
        (root / _RESERVED).write_text(str(folder))
    last = root / _LAST_SESSION
    last.parent.mkdir(parents=True)
    last.write_text(f"{day}--{number - 1:03}")
    return folder
