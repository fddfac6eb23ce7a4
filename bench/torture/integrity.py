"""Runs whose manifest is gone or unknown, and runs with pieces of another one."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import msgspec
import pyarrow.parquet as pq

from bench.torture.attempt import Area, Attempt
from bench.torture.folders import copy_run, tables_with_rows
from bench.torture.setting import Setting
from bench.torture.verdicts import unnamed
from contract.manifest import MANIFEST_FILE, write_manifest
from contract.run_folder import RunFolder

AREA = Area(
    "absent integrity",
    "a run of ours without a manifest, with an unknown one, or with tables of another run is "
    "undecided by name, however its tables were shortened",
    "`contract.manifest.alterations`, the run in each file's metadata",
)
_IN_AN_HOUR = 90
_WORDS = ("manifest.json is missing", "manifest.json is invalid", "is of another run")

Change = Callable[[RunFolder, RunFolder, Random], str]


def _without(copy: RunFolder, _: RunFolder, dice: Random) -> str:
    (copy.path / MANIFEST_FILE).unlink()
    return f"without a manifest{_shortened(copy, dice)}"


def _unfinished(copy: RunFolder, _: RunFolder, dice: Random) -> str:
    (copy.path / MANIFEST_FILE).unlink()
    copy.write_run(msgspec.structs.replace(copy.run(), ended_micros=None))
    return f"without an end and a manifest{_shortened(copy, dice)}"


def _unknown(copy: RunFolder, _: RunFolder, dice: Random) -> str:
    shortened = _shortened(copy, dice)
    write_manifest(copy)
    file = copy.path / MANIFEST_FILE
    content = msgspec.json.decode(file.read_bytes())
    content["schema"] = dice.choice([0, 2, -1, "1", None])
    file.write_bytes(msgspec.json.encode(content))
    return f"with schema {content['schema']}{shortened}"


def _mixed(copy: RunFolder, other: RunFolder, dice: Random) -> str:
    names = sorted(path.name for path in other.tables.glob("*.parquet"))
    taken = dice.sample(names, dice.randint(1, 4))
    for name in taken:
        shutil.copy(other.tables / name, copy.tables)
    write_manifest(copy)
    return f"with {', '.join(Path(name).stem for name in taken)} of another run"


_CHANGES: tuple[Change, ...] = (_without, _unfinished, _unknown, _mixed, _mixed)


def _shortened(copy: RunFolder, dice: Random) -> str:
    """Cut rows off some tables; returns which, in words."""
    chosen = dice.sample(tables_with_rows(copy), dice.randint(0, 5))
    for file in chosen:
        content = pq.read_table(file)
        kept = dice.randrange(content.num_rows)
        pq.write_table(content.slice(dice.choice([0, content.num_rows - kept]), kept), file)
    return f", with a part of {', '.join(file.stem for file in chosen)}" if chosen else ""


def attempts(setting: Setting) -> Iterator[Attempt]:
    """Change a copy of a run so that its manifest says nothing, and judge its tables as is."""
    for number in range(setting.count(_IN_AN_HOUR)):
        dice = setting.dice(AREA, number)
        copy = RunFolder(setting.place / f"integrity-{number}")
        copy_run(setting.elected, copy)
        what = _CHANGES[number % len(_CHANGES)](copy, setting.genuine, dice)
        yield Attempt(AREA.name, what, _problem(copy))
        shutil.rmtree(copy.path)


def _problem(copy: RunFolder) -> str:
    return unnamed(
        copy, lambda verdict: any(word in doubt for doubt in verdict.doubts for word in _WORDS)
    )
