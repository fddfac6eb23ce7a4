"""Collects what a killed scenario left on its nodes, if they are on this machine."""

import shutil
import time
from pathlib import Path

import msgspec

from contract.errors import RunFolderError
from contract.run_folder import RunFolder
from harness.collection.collect import decode_clients

_COPIES = (("history.jsonl", "{}.jsonl"), ("client.log", "{}.log"), ("output.log", "{}.output.log"))


def salvage(folder: RunFolder, root: Path, *, why: str) -> None:
    """Copy the workers' histories and logs of an unfinished run, and note this in run.json.

    A run that was ended, or interrupted before it was described, is left as it is.

    Args:
        folder: of the run.
        root: the folder of the nodes' files; a container's files disappear with it.
        why: it was never ended.
    """
    try:
        described = folder.run()
    except RunFolderError:
        return
    if described.ended_micros is not None:
        return
    for source in sorted(root.glob("**/workers/*/history.jsonl")):
        for name, copied in _COPIES:
            target = folder.history if name == "history.jsonl" else folder.clients
            target.mkdir(parents=True, exist_ok=True)
            if (source.parent / name).is_file():
                shutil.copy(source.parent / name, target / copied.format(source.parent.name))
    ended = time.time_ns() // 1000
    folder.write_run(msgspec.structs.replace(described, ended_micros=ended, error=why))
    decode_clients(folder, folder.tables)
