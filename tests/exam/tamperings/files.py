"""Changes files of a run: histories line by line, logs, descriptions, and tables as files."""

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from contract.run_folder import RunFolder
from contract.tables import TABLES
from tests.exam.tamperings.rows import NoPlaceError
from tests.exam.tamperings.tampering import Step

_LINES = ".jsonl"


def change_file(folder: RunFolder, step: Step, random: Random) -> None:
    """Do one step.

    Raises:
        NoPlaceError: no line has the text.
    """
    path = folder.path / step.of
    if step.of in TABLES:
        path = folder.tables / f"{step.of}.parquet"
    if step.verb == "remove":
        path.unlink()
    elif step.verb == "empty" and step.of in TABLES:
        pq.write_table(TABLES[step.of].empty_table(), path)
    elif step.verb == "empty":
        path.write_bytes(b"")
    elif step.verb == "truncate":
        path.write_bytes(_truncate(path.read_bytes(), step.share))
    elif step.of in TABLES:
        pq.write_table(_OF_COLUMNS[step.verb](pq.read_table(path), step.column), path)
    elif path.suffix == _LINES:
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(_changed_lines(lines, step, random)))
    else:
        content = msgspec.json.decode(path.read_bytes())
        for name, value in step.set.items():
            _set(content, name.split("."), value)
        path.write_bytes(msgspec.json.encode(content))


def _truncate(content: bytes, share: float | str | None) -> bytes:
    """The first part of a file: by its share of lines, or of bytes where it has none."""
    lines = content.splitlines(keepends=True)
    if share == "all but a line":
        return b"".join(lines[:-1])
    if share == "all but half a line":
        return b"".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2]
    is_text = content.startswith(b"{")
    if is_text:
        return b"".join(lines[: int(len(lines) * float(share or 0))])
    return content[: int(len(content) * float(share or 0))]


def _changed_lines(lines: list[bytes], step: Step, random: Random) -> list[bytes]:
    fitting = [index for index, line in enumerate(lines) if step.where.encode() in line]
    if not fitting:
        raise NoPlaceError(f"no line with {step.where}")
    if step.renumbered:
        kept = [msgspec.json.decode(x) for n, x in enumerate(lines) if n not in set(fitting)]
        numbered = [{**event, "seq": number} for number, event in enumerate(kept)]
        return [msgspec.json.encode(event) + b"\n" for event in numbered]
    index = random.choice(fitting)
    return [*lines[:index], *_instead(lines[index], step), *lines[index + 1 :]]


def _instead(line: bytes, step: Step) -> list[bytes]:
    """What stands in the place of a line."""
    if step.verb == "drop":
        return []
    if not step.set:
        return [line, line] if step.verb == "repeat" else [b"{" + line]
    event = {**msgspec.json.decode(line), **step.set}
    other = msgspec.json.encode({n: v for n, v in event.items() if v is not None}) + b"\n"
    return [line, other] if step.verb == "repeat" else [other]


def _set(content: Any, path: list[str], value: Any) -> None:
    """Set a field of a description, or of each entry of a list in it."""
    name, *rest = path
    if not rest:
        content[name] = value
        return
    for item in content[name]:
        _set(item, rest, value)


def _rename(rows: pa.Table, column: str) -> pa.Table:
    return rows.rename_columns({column: f"{column}_"})


def _retype(rows: pa.Table, column: str) -> pa.Table:
    """A column as text, and one of texts as bytes."""
    index = rows.column_names.index(column)
    is_text = pa.types.is_string(rows.schema.field(column).type)
    texts = pa.array([f"<{value}>" for value in rows.column(column).to_pylist()])
    return rows.set_column(index, column, texts.cast(pa.binary()) if is_text else texts)


_OF_COLUMNS: dict[str, Callable[[pa.Table, str], pa.Table]] = {
    "rename": _rename,
    "retype": _retype,
}
