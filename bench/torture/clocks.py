"""Clocks that are set while a run goes on, in its histories: no verdict may rest on them."""

import shutil
from collections.abc import Iterator

import msgspec

from bench.torture.attempt import Area, Attempt
from bench.torture.folders import copy_run
from bench.torture.setting import Setting
from bench.traces import judged_of
from contract.manifest import write_manifest
from contract.run_folder import RunFolder
from contract.verdicts import RunVerdict
from harness.commands.run import decode_again

AREA = Area(
    "moved clocks",
    "a node whose clock is set during a run leads to no accusation",
    "`clock_jump_micros` of histories, `Trace.clock_micros`",
)
_SECONDS = (-86400, -3600, -60, -5, -1, 1, 5, 60, 3600, 86400)
_MICROS = 1_000_000


def attempts(setting: Setting) -> Iterator[Attempt]:
    """Shift all wall clock times of one history from a random line on, and judge."""
    for number, seconds in enumerate(_SECONDS):
        dice = setting.dice(AREA, number)
        copy = RunFolder(setting.place / f"clock-{number}")
        copy_run(setting.genuine, copy)
        history = dice.choice(sorted(copy.history.glob("*.jsonl")))
        lines = history.read_bytes().splitlines(keepends=True)
        first = dice.randrange(len(lines))
        moved = [_moved(line, seconds) for line in lines[first:]]
        history.write_bytes(b"".join([*lines[:first], *moved]))
        write_manifest(copy)
        tried = f"{history.stem} by {seconds} s from line {first + 1} of {len(lines)} on"
        yield Attempt(AREA.name, tried, _problem(copy))
        shutil.rmtree(copy.path)


def _moved(line: bytes, seconds: int) -> bytes:
    event = msgspec.json.decode(line)
    for name in ("wall_micros", "began_micros", "asked_micros"):
        if event.get(name) is not None:
            event[name] += seconds * _MICROS
    return msgspec.json.encode(event) + b"\n"


def _problem(copy: RunFolder) -> str:
    if not decode_again(copy):
        return "its histories could not be decoded"
    judged = judged_of(copy)
    if judged.verdict is None:
        return str(judged.error)
    if judged.verdict.verdict is not RunVerdict.FAIL:
        return ""
    accusing = [check for check, one in judged.verdict.checks.items() if one.verdict == "violated"]
    return f"it was accused by {', '.join(accusing)}"
