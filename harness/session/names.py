"""The folder of a ducktape session: unique, also against concurrent sessions."""

import re
import time
from pathlib import Path

from contract.held import take

NOTES = "FENCEPOST_SESSION_NOTES"
"""In the environment of `harness.session.ducktape_program`: the folder with ducktape's file."""
_LOCK = "names.lock"
_LOCK_SECONDS = 60.0
_RESERVED = "session-folder"
_NOTES, _LAST_SESSION = "ducktape-notes", "session_id"


def reserve_session(results: Path, root: Path) -> tuple[Path, Path]:
    """Choose the folder of a new session, and let ducktape choose the same one.

    ducktape increments the id of the last session, which it keeps in a file. It fails if that file
    is damaged, or if the folder exists, e.g. in a copied results folder, or if two sessions begin
    at the same time. So each session has its own file.

    Args:
        results: the parent of the folder.
        root: of the session's nodes.

    Returns:
        the session's folder, which does not exist yet; and the one with ducktape's file.

    Raises:
        WaitTimeoutError: another process that chooses a name does not end.
    """
    results.mkdir(parents=True, exist_ok=True)
    day = time.strftime("%Y-%m-%d")
    with (root.parent / _LOCK).open("w") as lock:
        take(
            lock.fileno(),
            what=f"the names of other sessions in {results}",
            timeout_seconds=_LOCK_SECONDS,
        )
        reserved = [Path(file.read_text()) for file in root.parent.glob(f"*/{_RESERVED}")]
        there = [*results.iterdir(), *(path for path in reserved if path.parent == results)]
        matches = [re.fullmatch(rf"{day}--([0-9]{{3,9}})", path.name) for path in there]
        number = 1 + max((int(match[1]) for match in matches if match), default=0)
        folder = results / f"{day}--{number:03}"
        (root / _RESERVED).write_text(str(folder))
    notes = root / _NOTES
    notes.mkdir()
    (notes / _LAST_SESSION).write_text(f"{day}--{number - 1:03}")
    return folder, notes
