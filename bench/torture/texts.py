"""Hostile text in everything that a page shows: it stays text."""

import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from bench.torture.attempt import Area, Attempt
from bench.torture.setting import Setting
from bench.traces import judged_of
from contract.run_folder import PLAN_FILE, RUN_FILE, RunFolder
from contract.tables import DECLARED, of_run

AREA = Area(
    "hostile text",
    "no text of a run becomes markup of its page",
    "jinja2's autoescape, `rich.markup.escape`",
)
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


def attempts(setting: Setting) -> Iterator[Attempt]:
    """Put each text into all descriptions and tables of a copy of a run, and make its page."""
    genuine = setting.genuine
    for number, text in enumerate(TEXTS):
        copy = RunFolder(setting.place / f"text-{number}")
        copy.path.mkdir(parents=True)
        shutil.copytree(genuine.tables, copy.tables)
        for name in (PLAN_FILE, RUN_FILE):
            described = _with(msgspec.json.decode((genuine.path / name).read_bytes()), text)
            (copy.path / name).write_bytes(msgspec.json.encode(described))
        for table in copy.tables.glob("*.parquet"):
            _poison(table, text, copy.run().identity)
        yield Attempt(AREA.name, repr(text), _problem(copy))
        shutil.rmtree(copy.path)


def _with(value: Any, text: str, name: str = "") -> Any:
    """A description with the text at the end of every string that is free text."""
    if name in _KEPT:
        return value
    if isinstance(value, str):
        return value + text
    if isinstance(value, list):
        return [_with(one, text, name) for one in value]
    if isinstance(value, dict):
        return {key: _with(one, text, key) for key, one in value.items()}
    return value


def _poison(table: Path, text: str, run: str) -> None:
    """Put the text into what is no word of the contract; the file stays one of the run."""
    rows = pq.read_table(table)
    for index, column in enumerate(DECLARED[table.stem].columns):
        is_free = not column.values and not column.is_json and column.name not in _KEPT
        if pa.types.is_string(column.type) and is_free:
            said = [None if one is None else one + text for one in rows[column.name].to_pylist()]
            rows = rows.set_column(index, column.name, pa.array(said, pa.string()))
    pq.write_table(rows.cast(of_run(rows.schema, run)), table)


def _problem(copy: RunFolder) -> str:
    judged = judged_of(copy)
    if judged.verdict is None:
        return str(judged.error)
    if judged.verdict.unusable:
        return f"unusable: {', '.join(judged.verdict.unusable)}"
    page = (copy.report / "index.html").read_text()
    markup = _Markup()
    markup.feed(page)
    scripts = page.split("<script")[1:]
    outside = [one for one in scripts if f"<script>{MARK}" in one.partition("</script>")[0][:60]]
    return "; ".join(sorted(set(markup.found)) + (["a script"] if outside else []))
