"""Collects what a killed scenario left on its nodes, if they are on this machine."""

import shutil
import time
from pathlib import Path

import msgspec

from contract.run_folder import RunFolder
from harness.collection.collect import decode_clients

_COPIES = (("history.jsonl", "{}.jsonl"), ("client.log", "{}.log"), ("output.log", "{}.output.log"))


def salvage(folder: RunFolder, root: Path) -> None:
    """Copy the workers' histories and logs of a run that was never ended, and say that in run.json.

    Args:
        folder: of the run.
        root: where its nodes kept their files; a container's files are gone with it.
    """
    for source in sorted(root.glob("**/workers/*/history.jsonl")):
        for name, copied in _COPIES:
            target = folder.history if name == "history.jsonl" else folder.clients
            target.mkdir(parents=True, exist_ok=True)
            if (source.parent / name).is_file():
                shutil.copy(source.parent / name, target / copied.format(source.parent.name))
    run = msgspec.structs.replace(
        folder.run(),
        ended_micros=time.time_ns() // 1000,
        error="the scenario's process was killed before it had collected what was left",
    )
    folder.write_run(run)
    decode_clients(folder)
