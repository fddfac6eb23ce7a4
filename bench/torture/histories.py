"""Histories with bytes changed at random: every line is an event, or is counted."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from bench.torture.attempt import Area, Attempt
from bench.torture.setting import Setting
from contract.manifest import TABLES_OF_HISTORIES
from harness.decode.histories import read_histories
from harness.decode.tables import write_table

AREA = Area(
    "damaged histories",
    "each line is read or counted as malformed, incomplete or repeated, and all tables can be "
    "written",
    "`harness.decode.lines`, the ranges in `contract.events`",
)
HOSTILE = [
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\n",
    b'"',
    b"{",
    b"}",
    b"-1",
    b"null",
    b"1e999",
    b"9223372036854775808",
    b"123456789012345678901234567890",
    b'"\\ud800"',
    b"<script>[/]",
    b"[" * 3000 + b"]" * 3000,
    b"253402300800000000",
]
_IN_AN_HOUR = 300
_CHANGES_MAX = 8
_LENGTH_MAX = 200


def mangled(content: bytes, dice: Random) -> bytes:
    """A history with some places overwritten, cut out, repeated or filled with hostile bytes."""
    changed = bytearray(content)
    for _ in range(dice.randint(1, _CHANGES_MAX)):
        at, length = dice.randrange(len(changed) + 1), dice.randint(1, _LENGTH_MAX)
        repeated = bytes(changed[at : at + length]) * 2
        put = dice.choice([repeated, dice.randbytes(length), *HOSTILE])
        changed[at : at + dice.choice([0, 1, length])] = put
    return bytes(changed)


def attempts(setting: Setting) -> Iterator[Attempt]:
    """Mangle one of a run's histories at a time, and decode it."""
    files = sorted(setting.genuine.history.glob("*.jsonl"))
    for number in range(setting.count(_IN_AN_HOUR)):
        dice = setting.dice(AREA, number)
        source = dice.choice(files)
        folder = setting.place / f"history-{number}"
        folder.mkdir(parents=True)
        content = mangled(source.read_bytes(), dice)
        (folder / source.name).write_bytes(content)
        tried = f"{source.name}, {len(content)} bytes, attempt {number}"
        yield Attempt(AREA.name, tried, _problem(folder, content))


def _problem(folder: Path, content: bytes) -> str:
    try:
        rows = read_histories(folder)
        for table in TABLES_OF_HISTORIES:
            write_table(folder / "tables", table, rows.of(table))
    except Exception as error:  # noqa: BLE001 - what ends the decoder is what is looked for
        return f"{type(error).__name__}: {error}"[:200]
    (row,) = rows.of("histories")
    counted = row["events"] + row["malformed_lines"] + row["duplicate_lines"]
    lines = content.count(b"\n")
    return "" if counted == lines else f"{lines} lines, {counted} of them counted"
