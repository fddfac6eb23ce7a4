"""Copies of finished runs that are changed in one way at a time, and judged.

Each class is a `Copies`: which run is copied, how a copy is changed, and what its verdict must be.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.report.night_rows import Judged
from bench.torture.attempt import Area, Attempt, Setting
from bench.traces import judged_of
from contract.errors import FencepostError, RunFolderError
from contract.manifest import MANIFEST_FILE, TABLES_OF_HISTORIES, alterations, write_manifest
from contract.run_folder import PLAN_FILE, RUN_FILE, RunFolder
from contract.table_columns import Column
from contract.tables import DECLARED, of_run
from contract.verdicts import RunVerdict, Verdict
from harness.commands.run import decode_again
from harness.decode.histories import read_histories
from harness.decode.tables import write_table

_PARTS = ("plan.json", "run.json", "manifest.json", "history", "clients", "brokers", "tables")
_HIDDEN = ".[jd]*-*"


@dataclass(frozen=True)
class Copy:
    """A copy of a run that is to be changed.

    Attributes:
        folder: the copy.
        setting: the surroundings, with the runs that are copied.
        dice: the random choices of this attempt.
        number: of the attempt.
    """

    folder: RunFolder
    setting: Setting
    dice: Random
    number: int


@dataclass(frozen=True)
class Copies:
    """A class of attempts.

    Attributes:
        area: what holds.
        in_an_hour: the number of attempts in an hour.
        change: changes the copy; returns how, in words.
        problem: what is wrong with the outcome, in words, of the copy and its change; empty if
            nothing is.
        of_elected: whether the run with elections is copied, else that of `baseline`.
        parts: which files and folders are copied.
        is_table: whether there are as many attempts in any time.
    """

    area: Area
    in_an_hour: int
    change: Callable[[Copy], str]
    problem: Callable[[Copy, str], str]
    of_elected: bool = False
    parts: tuple[str, ...] = _PARTS
    is_table: bool = False

    def attempts(self, setting: Setting) -> Iterator[Attempt]:
        """Change a copy at a time."""
        source = setting.elected if self.of_elected else setting.genuine
        count = self.in_an_hour if self.is_table else setting.count(self.in_an_hour)
        for number in range(count):
            folder = RunFolder(setting.place / f"{self.area.name.replace(' ', '-')}-{number}")
            copy_run(source, folder, self.parts)
            copy = Copy(folder, setting, setting.dice(self.area, number), number)
            changed = self.change(copy)
            try:
                problem = self.problem(copy, changed)
            except Exception as error:  # noqa: BLE001 - what ends the analysis is what is looked for
                problem = f"{type(error).__name__}: {error}"[:200]
            yield Attempt(self.area.name, changed, problem)
            shutil.rmtree(folder.path)


def copy_run(genuine: RunFolder, copy: RunFolder, parts: tuple[str, ...] = _PARTS) -> None:
    """Copy what the analysis reads of a run."""
    copy.path.mkdir(parents=True, exist_ok=True)
    for part in parts:
        source = genuine.path / part
        (shutil.copytree if source.is_dir() else shutil.copy)(source, copy.path / part)


def digests(folder: Path) -> dict[str, str]:
    """The digest of each file at or below a folder, by its path; links are not followed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[str(path.relative_to(folder))] = f"link to {path.readlink()}"
        elif path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            found[str(path.relative_to(folder))] = content
    return found


def left_in(folder: RunFolder) -> str:
    """Name what an analysis left beside the report; empty if nothing is."""
    left = [path.name for path in folder.path.glob(_HIDDEN)]
    return f"{', '.join(left)} is left" if left else ""


def _tables_with_rows(copy: RunFolder) -> list[Path]:
    files = sorted(copy.tables.glob("*.parquet"))
    return [file for file in files if pq.read_metadata(file).num_rows]


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())


def _problem_of(judged: Judged, *, may_pass: bool = False) -> str:
    """What is wrong with the outcome of a damaged run."""
    if judged.verdict is None:
        is_clear = judged.exit_code not in (0, FencepostError.exit_code)
        return "" if is_clear else str(judged.error)
    if judged.verdict.verdict is RunVerdict.FAIL:
        return "it was accused"
    if judged.verdict.verdict is RunVerdict.PASS and not may_pass:
        return "it passed"
    return ""


def _unnamed(folder: RunFolder, is_named: Callable[[Verdict], bool]) -> str:
    """What is wrong with judging a damaged run, whose verdict has to name the damage."""
    judged = judged_of(folder)
    if (problem := _problem_of(judged)) or judged.verdict is None:
        return problem
    return left_in(folder) if is_named(judged.verdict) else "it was not named"


# Damaged files.

Damage = Callable[[Path, Random], object]


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
    "is there twice": lambda file, _: shutil.copy(file, file.with_name(f"copy-{file.name}")),
    "is missing with its folder": lambda file, _: shutil.rmtree(file.parent),
}


def _damaged(copy: Copy) -> str:
    path = copy.folder.path
    file = copy.dice.choice([file for part in _PARTS for file in _files(path / part)])
    name = copy.dice.choice(sorted(DAMAGES))
    if name == "is missing with its folder" and file.parent == path:
        name = "is missing"
    DAMAGES[name](file, copy.dice)
    return f"{file.relative_to(path)} {name}"


def _problem_of_damaged(copy: Copy, _: str) -> str:
    if not decode_again(copy.folder):
        return "its histories could not be decoded"
    judged = judged_of(copy.folder)
    return _problem_of(judged, may_pass=not list(alterations(copy.folder)))


DAMAGED_RUNS = Copies(
    Area(
        "damaged runs",
        "a damaged run never passes and never accuses; a clear error, or undecided with the reason",
        "`contract.manifest`, `analysis.runs.source`, `analysis.facts.gaps`",
    ),
    60,
    _damaged,
    _problem_of_damaged,
)


# Histories with bytes changed at random.

HOSTILE = (
    b"", b"\x00", b"\xff\xfe", b"\n", b'"', b"{", b"}", b"-1", b"null", b"1e999",
    b"9223372036854775808", b"123456789012345678901234567890", b'"\\ud800"', b"<script>[/]",
    b"[" * 3000 + b"]" * 3000, b"253402300800000000",
)  # fmt: skip
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


def _mangled_history(copy: Copy) -> str:
    source = copy.dice.choice(sorted(copy.setting.genuine.history.glob("*.jsonl")))
    content = mangled(source.read_bytes(), copy.dice)
    (copy.folder.path / source.name).write_bytes(content)
    return f"{source.name}, {len(content)} bytes, attempt {copy.number}"


def _problem_of_history(copy: Copy, _: str) -> str:
    folder = copy.folder.path
    (file,) = folder.iterdir()
    lines = file.read_bytes().count(b"\n")
    rows = read_histories(folder)
    for table in TABLES_OF_HISTORIES:
        write_table(folder / "tables", table, rows.table(table))
    (row,) = rows.of("histories")
    counted = row["events"] + row["malformed_lines"] + row["duplicate_lines"]
    return "" if counted == lines else f"{lines} lines, {counted} of them counted"


DAMAGED_HISTORIES = Copies(
    Area(
        "damaged histories",
        "each line is read or counted as malformed, incomplete or repeated, and all tables can be "
        "written",
        "`harness.decode.lines`, the ranges in `contract.events`",
    ),
    300,
    _mangled_history,
    _problem_of_history,
    parts=(),
)


# Links that lead out of a run.

_LINKED = ("tables", "history", "clients", "brokers", "report")


def _link_target(setting: Setting) -> RunFolder:
    """Another run, which was judged."""
    other = RunFolder(setting.place / "linked-to")
    if not other.path.exists():
        copy_run(setting.elected, other)
        judged_of(other)
    return other


def _linked(copy: Copy) -> str:
    path, dice = copy.folder.path, copy.dice
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]
    is_folder = copy.number % 4 == 0
    name = Path(dice.choice(_LINKED)) if is_folder else dice.choice(files).relative_to(path)
    target = _link_target(copy.setting).path / name
    link = path / name
    if link.is_dir():
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.symlink_to(dice.choice([str(target), os.path.relpath(target, link.parent)]))
    if dice.random() < 1 / 2 and not is_folder:
        link.unlink()
        (link.parent / f"more-{link.name}").symlink_to(target)
    return f"{name} is a link"


def _problem_of_links(copy: Copy, _: str) -> str:
    folders = copy.folder.path, _link_target(copy.setting).path
    before = [digests(folder) for folder in folders]
    decode_again(copy.folder)
    judged = judged_of(copy.folder)
    if [digests(folder) for folder in folders] != before:
        return "a run was changed"
    if judged.exit_code != RunFolderError.exit_code or "is a link to" not in str(judged.error):
        return str(judged.error or "it was judged")
    return left_in(copy.folder)


LINKS = Copies(
    Area(
        "links out of a run",
        "a run with a part that is a link to another run is refused with the link and its target; "
        "neither run is changed",
        "`RunFolder.require_own`",
    ),
    90,
    _linked,
    _problem_of_links,
    of_elected=True,
)


# Manifests that are gone or unknown, and pieces of another run.


def _without_manifest(copy: Copy) -> str:
    (copy.folder.path / MANIFEST_FILE).unlink()
    return f"without a manifest{_shortened(copy)}"


def _unfinished(copy: Copy) -> str:
    (copy.folder.path / MANIFEST_FILE).unlink()
    copy.folder.write_run(msgspec.structs.replace(copy.folder.run(), ended_micros=None))
    return f"without an end and a manifest{_shortened(copy)}"


def _unknown_schema(copy: Copy) -> str:
    shortened = _shortened(copy)
    write_manifest(copy.folder)
    file = copy.folder.path / MANIFEST_FILE
    content = msgspec.json.decode(file.read_bytes())
    content["schema"] = copy.dice.choice([0, 2, -1, "1", None])
    file.write_bytes(msgspec.json.encode(content))
    return f"with schema {content['schema']}{shortened}"


def _mixed(copy: Copy) -> str:
    tables = copy.setting.genuine.tables
    names = sorted(path.name for path in tables.glob("*.parquet"))
    taken = copy.dice.sample(names, copy.dice.randint(1, 4))
    for name in taken:
        shutil.copy(tables / name, copy.folder.tables)
    write_manifest(copy.folder)
    return f"with {', '.join(Path(name).stem for name in taken)} of another run"


def _shortened(copy: Copy) -> str:
    """Cut rows off some tables; returns which, in words."""
    dice = copy.dice
    chosen = dice.sample(_tables_with_rows(copy.folder), dice.randint(0, 5))
    for file in chosen:
        content = pq.read_table(file)
        kept = dice.randrange(content.num_rows)
        pq.write_table(content.slice(dice.choice([0, content.num_rows - kept]), kept), file)
    return f", with a part of {', '.join(file.stem for file in chosen)}" if chosen else ""


_CHANGES = (_without_manifest, _unfinished, _unknown_schema, _mixed, _mixed)
_WORDS = ("manifest.json is missing", "manifest.json is invalid", "is of another run")

ABSENT_INTEGRITY = Copies(
    Area(
        "absent integrity",
        "a run of ours without a manifest, with an unknown one, or with tables of another run is "
        "undecided by name, however its tables were shortened",
        "`contract.manifest.alterations`, the run in each file's metadata",
    ),
    90,
    lambda copy: _CHANGES[copy.number % len(_CHANGES)](copy),
    lambda copy, _: _unnamed(
        copy.folder,
        lambda verdict: any(word in doubt for doubt in verdict.doubts for word in _WORDS),
    ),
    of_elected=True,
)


# Values that the contract forbids.

_ROWS_MAX = 3
_TWICE = 1 / 4
"""How often rows of a table with a key are there twice."""

Row = dict[str, Any]


def _with_forbidden(copy: Copy) -> str:
    """Change values of some rows of a table, under a manifest that is written again."""
    file = copy.dice.choice(_tables_with_rows(copy.folder))
    content = pq.read_table(file)
    rows = content.to_pylist()
    what = _break(file.stem, rows, copy.dice)
    pq.write_table(pa.Table.from_pylist(rows, schema=content.schema), file)
    write_manifest(copy.folder)
    return f"{file.stem}: {what}"


def _break(table: str, rows: list[Row], dice: Random) -> str:
    """Break the contract of a table in some rows; returns how, in words."""
    declared = DECLARED[table]
    chosen = dice.sample(rows, min(len(rows), dice.randint(1, _ROWS_MAX)))
    if declared.key and dice.random() < _TWICE:
        rows += [dict(row) for row in chosen]
        return "rows twice"
    kinds = [(column, kind) for column in declared.columns for kind in _kinds(column)]
    column, kind = dice.choice(kinds)
    for row in chosen:
        row[column.name] = _forbidden(column, kind, dice)
    return f"{column.name}: {kind}"


def _kinds(column: Column) -> Iterator[str]:
    """The ways to break the contract of a column."""
    if not column.null:
        yield "null"
    if column.values:
        yield "unknown word"
    if column.is_json:
        yield "no JSON"
    if column.least is not None:
        yield "too small"
    if column.most is not None:
        yield "too large"


def _forbidden(column: Column, kind: str, dice: Random) -> object:
    is_list = pa.types.is_list(column.type)
    value: object = {
        "null": None,
        "unknown word": dice.choice(["perhaps", "OK", "", "ok "]),
        "no JSON": dice.choice(["{", "NaN", '{"x":NaN}', "[]", "7", ""]),
        "too small": (column.least or 0) - dice.choice([1, 2, 10**6]),
        "too large": (column.most or 0) + dice.choice([1, 2**30]),
    }[kind]
    if is_list and kind != "null":
        return [dice.choice([None, value])]
    return value


def _problem_of_values(copy: Copy, changed: str) -> str:
    table = changed.partition(":")[0]
    return _unnamed(
        copy.folder,
        lambda verdict: table in verdict.unusable and any(table in one for one in verdict.doubts),
    )


FORBIDDEN_VALUES = Copies(
    Area(
        "forbidden values",
        "a table with a null, a number out of its range, an unknown word, a row twice or a range "
        "that goes back is named, and the run is undecided",
        "`analysis.runs.validity`, the columns of `contract.tables`",
    ),
    180,
    _with_forbidden,
    _problem_of_values,
    of_elected=True,
)


# Folders whose names are patterns, statements, orders to a terminal, or no text.

NAMES = (
    b"a*", b"a[1]", b"a?", b"{a1,b}", b"it's", b'a "b"', b"x'); COPY (select 1) TO 'out.csv'; --",
    b'x"; drop table t1; --', b"leader=killed", b"per%20cent", b"a#b", b"a;b", b"a\\b", b"-rf",
    b"~", b"$HOME", b"`id`", b"a\nb", b"a\rb", b"a\x1b[2J", b"caf\xe9", b"\xff\xfe",
    "ä ö 漢字".encode(), "\u202eabc".encode(), b"<script>", b"[red]", b"{{7*7}}", b"...",
    b".hidden", b"a" * 200,
)  # fmt: skip
FOLDER_NAMES = Area(
    "names of folders",
    "a run comes to the same verdict in a folder of any name, and nothing is written elsewhere",
    "files that are opened and not named to DuckDB, `contract.terminal.shown`",
)


def folder_names(setting: Setting) -> Iterator[Attempt]:
    """Judge a run in a folder of each name, beside another one that a pattern would find."""
    home = setting.place / "names"
    decoy = RunFolder(home / "a1")
    copy_run(setting.genuine, decoy)
    usual = RunFolder(home / "usual")
    copy_run(setting.elected, usual)
    expected = _judged_briefly(usual)
    for name in NAMES:
        folder = RunFolder(home / os.fsdecode(name))
        copy_run(setting.elected, folder)
        before = digests(decoy.path), set(home.iterdir())
        try:
            found = _judged_briefly(folder)
        except Exception as error:  # noqa: BLE001 - what ends the analysis is what is looked for
            found = f"{type(error).__name__}: {error!r}"[:200]
        problem = "" if found == expected else f"{found}, not {expected}"
        if (digests(decoy.path), set(home.iterdir())) != before:
            problem = "something was written elsewhere"
        yield Attempt(FOLDER_NAMES.name, repr(name)[1:], problem or left_in(folder))
        shutil.rmtree(folder.path)


def _judged_briefly(folder: RunFolder) -> str:
    """The verdict, and how many findings each check has; or the error."""
    decode_again(folder)
    judged = judged_of(folder)
    if judged.verdict is None:
        return str(judged.error)
    found = sum(one.findings for one in judged.verdict.checks.values())
    return f"{judged.verdict.verdict} with {found} findings"


# Hostile text in everything that a page shows.

MARK = "hostileword"
TEXTS = [
    f"<script>{MARK}()</script>",
    f"</script><script>{MARK}()</script>",
    f'" onmouseover="{MARK}()',
    f"' autofocus onfocus='{MARK}()",
    f"<img src=x onerror={MARK}()>",
    f"[bold red]{MARK}[/bold red][/]",
    f"{{{{ {MARK} }}}}{{% raw %}}",
    f"javascript:{MARK}()",
    f"\u202e{MARK}\x00\x1b[31m",
]
_KEPT = {"cluster", "kafka", "verdict", "client", "isolation", "reset", "check"}
_KEPT |= {"commit_epoch", "manner"}
"""Fields whose values are names of ours; anything else there is refused before a page is made."""


class _Markup(HTMLParser):
    """Tags and attributes that have the mark."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            is_link = name in ("href", "src") and str(value).startswith("javascript:")
            if MARK in name or MARK in tag or is_link or name.startswith("on"):
                self.found.append(f"<{tag} {name}>")


def _with_text(copy: Copy) -> str:
    """Put a text into all descriptions and tables."""
    text, folder = TEXTS[copy.number], copy.folder
    for name in (PLAN_FILE, RUN_FILE):
        file = folder.path / name
        described = _described_with(msgspec.json.decode(file.read_bytes()), text)
        file.write_bytes(msgspec.json.encode(described))
    for table in folder.tables.glob("*.parquet"):
        _put_into(table, text, folder.run().identity)
    return repr(text)


def _described_with(value: Any, text: str, name: str = "") -> Any:
    """A description with the text at the end of every string that is free text."""
    if name in _KEPT:
        return value
    if isinstance(value, str):
        return value + text
    if isinstance(value, list):
        return [_described_with(one, text, name) for one in value]
    if isinstance(value, dict):
        return {key: _described_with(one, text, key) for key, one in value.items()}
    return value


def _put_into(table: Path, text: str, run: str) -> None:
    """Put the text into what is no word of the contract; the file stays one of the run."""
    rows = pq.read_table(table)
    for index, column in enumerate(DECLARED[table.stem].columns):
        is_free = not column.values and not column.is_json and column.name not in _KEPT
        if pa.types.is_string(column.type) and is_free:
            said = [None if one is None else one + text for one in rows[column.name].to_pylist()]
            rows = rows.set_column(index, column.name, pa.array(said, pa.string()))
    pq.write_table(rows.cast(of_run(rows.schema, run)), table)


def _problem_of_page(copy: Copy, _: str) -> str:
    judged = judged_of(copy.folder)
    if judged.verdict is None:
        return str(judged.error)
    if judged.verdict.unusable:
        return f"unusable: {', '.join(judged.verdict.unusable)}"
    page = (copy.folder.report / "index.html").read_text()
    markup = _Markup()
    markup.feed(page)
    scripts = page.split("<script")[1:]
    outside = [one for one in scripts if f"<script>{MARK}" in one.partition("</script>")[0][:60]]
    return "; ".join(sorted(set(markup.found)) + (["a script"] if outside else []))


HOSTILE_TEXT = Copies(
    Area(
        "hostile text",
        "no text of a run becomes markup of its page",
        "jinja2's autoescape, `rich.markup.escape`",
    ),
    len(TEXTS),
    _with_text,
    _problem_of_page,
    parts=(PLAN_FILE, RUN_FILE, "tables"),
    is_table=True,
)


# Clocks that are set while a run goes on, in its histories: no verdict may rest on them.

_SECONDS = (-86400, -3600, -60, -5, -1, 1, 5, 60, 3600, 86400)
_MICROS = 1_000_000


def _with_moved_clock(copy: Copy) -> str:
    """Shift all wall clock times of one history from a random line on."""
    seconds = _SECONDS[copy.number]
    history = copy.dice.choice(sorted(copy.folder.history.glob("*.jsonl")))
    lines = history.read_bytes().splitlines(keepends=True)
    first = copy.dice.randrange(len(lines))
    moved = [_moved(line, seconds) for line in lines[first:]]
    history.write_bytes(b"".join([*lines[:first], *moved]))
    write_manifest(copy.folder)
    return f"{history.stem} by {seconds} s from line {first + 1} of {len(lines)} on"


def _moved(line: bytes, seconds: int) -> bytes:
    event = msgspec.json.decode(line)
    for name in ("wall_micros", "began_micros", "asked_micros"):
        if event.get(name) is not None:
            event[name] += seconds * _MICROS
    return msgspec.json.encode(event) + b"\n"


def _problem_of_clocks(copy: Copy, _: str) -> str:
    if not decode_again(copy.folder):
        return "its histories could not be decoded"
    judged = judged_of(copy.folder)
    if judged.verdict is None:
        return str(judged.error)
    if judged.verdict.verdict is not RunVerdict.FAIL:
        return ""
    accusing = [check for check, one in judged.verdict.checks.items() if one.verdict == "violated"]
    return f"it was accused by {', '.join(accusing)}"


MOVED_CLOCKS = Copies(
    Area(
        "moved clocks",
        "a node whose clock is set during a run leads to no accusation",
        "`clock_jump_micros` of histories, `Trace.clock_micros`",
    ),
    len(_SECONDS),
    _with_moved_clock,
    _problem_of_clocks,
    is_table=True,
)

_BEFORE_NAMES = (DAMAGED_HISTORIES, DAMAGED_RUNS, LINKS, ABSENT_INTEGRITY, FORBIDDEN_VALUES)
CLASSES: dict[Area, Callable[[Setting], Iterator[Attempt]]] = {
    **{one.area: one.attempts for one in _BEFORE_NAMES},
    FOLDER_NAMES: folder_names,
    HOSTILE_TEXT.area: HOSTILE_TEXT.attempts,
    MOVED_CLOCKS.area: MOVED_CLOCKS.attempts,
}
"""In the order of the page."""
