"""Names reach no terminal as orders: neither as its escapes nor as rich's markup."""

import io
import os
from typing import Any

import pytest
from rich.progress import Progress, TextColumn
from rich.table import Table
from rich.text import Text

from contract.program import say
from contract.terminal import Terminal, shown

NAME = "[red]a[/] \x1b]0;title\x07\x1b[2J\x9b31m\r\u202eb\u2028c\u2029d :bomb:"
SHOWN = r"[red]a[/] \x1b]0;title\x07\x1b[2J\x9b31m\r\u202eb\u2028c\u2029d :bomb:"


def table(name: str) -> Table:
    made = Table(name)
    made.add_row(name)
    made.add_row(Text(name))
    return made


def orders_in(printed: str) -> set[str]:
    return set(printed) & set("\x1b\x07\x9b\r\u202e\u2028\u2029")


@pytest.mark.parametrize("printed", [str, Text, table])
def test_a_name_is_shown_as_it_is(printed: Any) -> None:
    out = io.StringIO()
    Terminal(file=out, width=200, no_color=True).print(printed(NAME), highlight=False)
    assert orders_in(out.getvalue()) == set()
    assert r"[red]a[/] \x1b]0;title" in out.getvalue()
    assert SHOWN in out.getvalue() or printed is Text, "rich removes some of a text itself"


def test_a_line_of_progress_is_shown_as_it_is() -> None:
    out = io.StringIO()
    console = Terminal(file=out, width=200)
    with Progress(TextColumn("{task.description}", markup=False), console=console) as progress:
        progress.add_task(NAME)
    assert orders_in(out.getvalue()) == set()
    assert r"[red]a[/] \x1b]0;title" in out.getvalue()


def test_an_error_is_told_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    say(NAME)
    assert capsys.readouterr().err == f"error: {SHOWN}\n"


def test_bytes_that_are_no_text_are_shown_as_bytes() -> None:
    assert shown(os.fsdecode(b"a\xff\xe9")) == r"a\xff\xe9"
    assert shown("\ud800") == r"\ud800"
    assert shown("tab\tand\nlines, é and 漢字") == "tab\tand\nlines, é and 漢字"
