"""The outputs of a comparison: lines for the terminal, Markdown, and a page."""

from pathlib import Path

import msgspec
from rich.console import Console
from rich.text import Text

from analysis.report.templating import environment
from contract.files import replace_file
from contract.program import as_line, plain, table
from extras.compare.comparison import RESULT_FILE, Cell, Outcome, Result
from extras.compare.words import (
    HEADS,
    cell_lines,
    cell_words,
    headline,
    left_out,
    sentences,
)

PAGE, MARKDOWN = "compare.html", "compare.md"
ROWS_MAX = 200
"""Of a page; `compare.json` has all cells."""
_TERMINAL_ROWS = 12
_TEMPLATE = Path(__file__).with_name("compare.html.j2")
_COLOURS = {Outcome.SAME: "green", Outcome.DIFFERS: "red", Outcome.UNDECIDED: "yellow"}


def write(folder: Path, result: Result) -> None:
    """Write `compare.json`, `compare.md` and `compare.html` into a folder."""
    folder.mkdir(exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(result), indent=2)
    replace_file(folder / RESULT_FILE, text + b"\n")
    replace_file(folder / MARKDOWN, markdown(result).encode())
    replace_file(folder / PAGE, page(result).encode())


def show(result: Result, out: Console, *, is_verbose: bool) -> None:
    """Print the outcome and the cells that differ, or those that come nearest to it."""
    shown = result.cells if is_verbose else _nearest(result)
    for cell in shown:
        for line in cell_lines(cell):
            _print(out, line, style="bold" if cell.differs else "")
    if left := left_out(result, len(shown)):
        _print(out, f"{left}: {PAGE}")
    for line in sentences(result):
        _print(out, line)
    colour = _COLOURS[result.outcome]
    out.print(Text(headline(result), style=f"bold {colour}"), soft_wrap=True)


def markdown(result: Result) -> str:
    """The comparison as Markdown."""
    lines = [
        f"# Fencepost: {plain(headline(result))}",
        "",
        f"Scenario {plain(_question_of(result))}.",
        "",
    ]
    lines += [f"- {plain(line)}" for line in sentences(result)]
    rows = []
    for cell in result.cells[:ROWS_MAX]:
        first, *others = map(plain, cell_words(cell))
        rows.append([f"**{first}**" if cell.differs else first, *others])
    if rows:
        lines += ["", table(HEADS, rows)]
    if result.cells[ROWS_MAX:]:
        lines += ["", f"{len(result.cells) - ROWS_MAX} more cells: {RESULT_FILE}"]
    return "\n".join(lines) + "\n"


def page(result: Result) -> str:
    """The page's text."""
    return (
        environment()
        .from_string(_TEMPLATE.read_text())
        .render(
            result=result,
            asked=_question_of(result),
            headline=headline(result),
            sentences=list(sentences(result)),
            heads=HEADS,
            rows=[(cell.differs, cell_words(cell)) for cell in result.cells[:ROWS_MAX]],
            left=len(result.cells[ROWS_MAX:]),
            result_file=RESULT_FILE,
        )
    )


def _nearest(result: Result) -> list[Cell]:
    differing = [cell for cell in result.cells if cell.differs]
    return (differing or result.cells)[:_TERMINAL_ROWS]


def _question_of(result: Result) -> str:
    given = ", ".join(f"{name} {value}" for name, value in sorted(result.parameters.items()))
    return f"{result.scenario}, {given}" if given else result.scenario


def _print(out: Console, line: str, *, style: str = "") -> None:
    out.print(Text(as_line(line)), style=style, soft_wrap=True, highlight=False)
