"""Damages of a file, and of a history: each repeats by its seed."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

from contract.manifest import alterations
from contract.run_folder import RunFolder
from contract.verdicts import RunVerdict, Verdict

PARTS = ("plan.json", "run.json", "manifest.json", "history", "clients", "brokers", "tables")
"""What the analysis reads of a run."""
HOSTILE = (
    b"", b"\x00", b"\xff\xfe", b"\n", b'"', b"{", b"}", b"-1", b"null", b"1e999",
    b"9223372036854775808", b"123456789012345678901234567890", b'"\\ud800"', b"<script>[/]",
    b"[" * 3000 + b"]" * 3000, b"253402300800000000",
)  # fmt: skip
CHANGES_MAX, LENGTH_MAX = 8, 200


def mangle(content: bytes, dice: Random) -> bytes:
    """A history with some places overwritten, cut out, repeated or filled with hostile bytes."""
    changed = bytearray(content)
    for _ in range(dice.randint(1, CHANGES_MAX)):
        at, length = dice.randrange(len(changed) + 1), dice.randint(1, LENGTH_MAX)
        repeated = bytes(changed[at : at + length]) * 2
        put = dice.choice([repeated, dice.randbytes(length), *HOSTILE])
        changed[at : at + dice.choice([0, 1, length])] = put
    return bytes(changed)


def flip(file: Path, dice: Random) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(dice.randint(1, 5) if content else 0):
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    file.write_bytes(content)


def raise_digit(file: Path, dice: Random) -> None:
    """Another digit, so that a line or a description still reads."""
    content = bytearray(file.read_bytes())
    digits = [at for at, byte in enumerate(content) if chr(byte).isdigit()]
    if digits:
        at = dice.choice(digits)
        content[at] = ord("0") + (content[at] - ord("0") + dice.randint(1, 9)) % 10
    file.write_bytes(content)


def by(put: Callable[[Path], object]) -> Callable[[Path, Random], object]:
    """Put something else in the place of a file."""

    def damage(file: Path, _: Random) -> None:
        file.unlink()
        put(file)

    return damage


def by_sibling(file: Path, dice: Random) -> None:
    others = sorted(
        sibling for sibling in file.parent.iterdir() if sibling.is_file() and sibling != file
    )
    if others:
        shutil.copy(dice.choice(others), file)


DAMAGES: dict[str, Callable[[Path, Random], object]] = {
    "is cut short": lambda file, dice: os.truncate(
        file, dice.randrange(max(1, file.stat().st_size))
    ),
    "has bits flipped": flip,
    "has another digit": raise_digit,
    "has bytes appended": lambda file, dice: file.write_bytes(
        file.read_bytes() + dice.choice([b"\x00" * 100, b"{}\n", b"\xff\n", dice.randbytes(500)])
    ),
    "is empty": lambda file, _: os.truncate(file, 0),
    "is missing": lambda file, _: file.unlink(),
    "is a folder": by(Path.mkdir),
    "is a pipe": by(os.mkfifo),
    "is a link to itself": by(lambda file: file.symlink_to(file)),
    "is another file's copy": by_sibling,
    "is there twice": lambda file, _: shutil.copy(file, file.with_name(f"copy-{file.name}")),
}


def copy_run(genuine: RunFolder, copy: RunFolder) -> None:
    """Copy what the analysis reads of a run."""
    copy.path.mkdir(parents=True)
    for source in (genuine.path / part for part in PARTS):
        if source.exists():
            (shutil.copytree if source.is_dir() else shutil.copy)(source, copy.path / source.name)


def damage(copy: RunFolder, name: str, dice: Random) -> str:
    """Damage one file of a copy; returns which, in words."""
    file = dice.choice(sorted(path for path in copy.path.rglob("*") if path.is_file()))
    DAMAGES[name](file, dice)
    return f"{file.relative_to(copy.path)} {name}"


def wrong(copy: RunFolder, verdict: Verdict | None) -> str:
    """What is wrong with the verdict on a damaged run; None: it was refused."""
    if verdict is None or verdict.verdict is RunVerdict.UNDECIDED:
        return ""
    is_changed = bool(list(alterations(copy)))
    return str(verdict.verdict) if is_changed or verdict.verdict is RunVerdict.FAIL else ""
