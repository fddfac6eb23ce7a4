"""Damaged runs: files that are cut, changed, missing, or no files at all."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pyarrow.parquet as pq

from bench.torture.attempt import Area, Attempt
from bench.torture.setting import Setting
from bench.torture.verdicts import problem_of
from bench.traces import judged_of
from contract.manifest import alterations
from contract.run_folder import RunFolder
from harness.commands.run import decode_again

AREA = Area(
    "damaged runs",
    "a damaged run never passes and never accuses; a clear error, or undecided with the reason",
    "`contract.manifest`, `analysis.facts.source`, `analysis.facts.gaps`",
)
_IN_AN_HOUR = 60
_PARTS = ("plan.json", "run.json", "manifest.json", "history", "clients", "brokers", "tables")

Damage = Callable[[Path, Random], None]


def _cut(file: Path, dice: Random) -> None:
    size = file.stat().st_size
    os.truncate(file, dice.randrange(size) if size else 0)


def _flip(file: Path, dice: Random) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(dice.randint(1, 5)):
        if content:
            content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    file.write_bytes(content)


def _raise_digit(file: Path, dice: Random) -> None:
    """Another digit, so that a line or a description still reads."""
    content = bytearray(file.read_bytes())
    digits = [at for at, byte in enumerate(content) if chr(byte).isdigit()]
    if digits:
        at = dice.choice(digits)
        content[at] = ord("0") + (content[at] - ord("0") + dice.randint(1, 9)) % 10
    file.write_bytes(content)


def _append(file: Path, dice: Random) -> None:
    with file.open("ab") as content:
        content.write(dice.choice([b"\x00" * 100, b"{}\n", b"\xff\n", dice.randbytes(500)]))


def _by(put: Callable[[Path], None]) -> Damage:
    """Put something else in the place of a file."""

    def damage(file: Path, _: Random) -> None:
        file.unlink()
        put(file)

    return damage


def _by_sibling(file: Path, dice: Random) -> None:
    others = sorted(one for one in file.parent.iterdir() if one.is_file() and one != file)
    if others:
        shutil.copy(dice.choice(others), file)


def _doubled(file: Path, _: Random) -> None:
    shutil.copy(file, file.with_name(f"copy-{file.name}"))


DAMAGES: dict[str, Damage] = {
    "is cut short": _cut,
    "has bits flipped": _flip,
    "has another digit": _raise_digit,
    "has bytes appended": _append,
    "is empty": lambda file, _: os.truncate(file, 0),
    "is missing": lambda file, _: file.unlink(),
    "is a folder": _by(Path.mkdir),
    "is a pipe": _by(os.mkfifo),
    "is a link to itself": _by(lambda file: file.symlink_to(file)),
    "is another file's copy": _by_sibling,
    "is there twice": _doubled,
    "is missing with its folder": lambda file, _: shutil.rmtree(file.parent),
}


def attempts(setting: Setting) -> Iterator[Attempt]:
    """Damage a copy of a run in one place at a time, and judge it as `fencepost analyze` does."""
    for number in range(setting.count(_IN_AN_HOUR)):
        dice = setting.dice(AREA, number)
        copy = RunFolder(setting.place / f"run-{number}")
        copy_run(setting.genuine, copy)
        files = [path for part in _PARTS for path in _files(copy.path / part)]
        file = dice.choice(files)
        name = dice.choice(sorted(DAMAGES))
        if name == "is missing with its folder" and file.parent == copy.path:
            name = "is missing"
        DAMAGES[name](file, dice)
        tried = f"{file.relative_to(copy.path)} {name}"
        yield Attempt(AREA.name, tried, _problem(copy))
        shutil.rmtree(copy.path)


def copy_run(genuine: RunFolder, copy: RunFolder) -> None:
    """Copy what the analysis reads of a run."""
    for part in _PARTS:
        source = genuine.path / part
        if source.is_dir():
            shutil.copytree(source, copy.path / part)
        else:
            copy.path.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy.path / part)


def tables_with_rows(copy: RunFolder) -> list[Path]:
    """The files of a run's tables that have rows."""
    files = sorted(copy.tables.glob("*.parquet"))
    return [file for file in files if pq.read_metadata(file).num_rows]


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())


def _problem(copy: RunFolder) -> str:
    try:
        if not decode_again(copy):
            return "its histories could not be decoded"
        judged = judged_of(copy)
        is_as_collected = not list(alterations(copy))
    except Exception as error:  # noqa: BLE001 - what ends the analysis is what is looked for
        return f"{type(error).__name__}: {error}"[:200]
    return problem_of(judged, may_pass=is_as_collected)
