"""`fencepost open` and `explain`: what is known of runs and findings."""

import os
import sys
import webbrowser
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from contract.errors import RunFolderError, UsageError
from contract.files import as_word, is_below, local_folder
from contract.locks import is_held
from contract.packages import python
from contract.processes import run_child
from contract.program import as_line
from contract.run_folder import NODES_FOLDER, find_runs, has_runs
from harness.commands.options import RESULTS, AsJson, PlaygroundResults, Results
from harness.playground.state import FOLDER, KEEPER, find, look

_MICROS = 1_000_000
_PAGE = Path("report") / "index.html"
_NIGHTS = "nightly"
_GRAPHICAL = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""Variables of a session that can show a page, or that name a browser."""


def open_page(
    path: Annotated[
        Path | None,
        typer.Argument(
            help="Folder of a run, session or night, or a page; the last page if none.",
            parser=local_folder,
            metavar="PATH",
        ),
    ] = None,
    *,
    results: Results = RESULTS,
    standalone: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the page as one self-contained file instead of showing it.",
            parser=local_folder,
        ),
    ] = None,
) -> None:
    """Show a page of a report in a browser, and print its path.

    Without a graphical session only the path is printed.
    """
    page = last_page(results) if path is None else page_of(path)
    if standalone is not None:
        command = python("analysis.report.standalone", "--", str(page), str(standalone))
        raise typer.Exit(run_child(command, what="writing the page"))
    typer.echo(as_line(str(page)))
    if is_graphical():
        webbrowser.open(page.as_uri())


def explain(
    run: Annotated[
        str,
        typer.Argument(
            help="A run's folder, or the address of a finding on its page; or a partition or a "
            "group of the playground, e.g. orders-0."
        ),
    ],
    finding: Annotated[
        str | None,
        typer.Argument(
            help="CHECK, CHECK:N for the Nth of its findings, or the finding's id on the page; "
            "lists what is unexpected or undecided if not given."
        ),
    ] = None,
    *,
    show_all: Annotated[
        bool, typer.Option("--all", help="Show every finding, every event.")
    ] = False,
    as_json: AsJson = False,
    results: PlaygroundResults = RESULTS,
) -> None:
    """Show the events behind one finding in order: sends, leaders, faults, commits, deliveries.

    Of a partition or a group of a playground that runs, show what happened to it so far.
    """
    if finding is None and is_held(results / KEEPER) and not os.path.lexists(run.partition("#")[0]):
        _explain_by_hand(results, run, as_json=as_json)
        return
    local_folder(run.partition("#")[0])
    options = [name for name, is_chosen in (("--all", show_all), ("--json", as_json)) if is_chosen]
    names = [run] if finding is None else [run, finding]
    command = python("analysis.report.explain", *options, "--", *names)
    raise typer.Exit(run_child(command, what="the explanation"))


def _explain_by_hand(results: Path, subject: str, *, as_json: bool) -> None:
    from harness.playground.serve import Views  # noqa: PLC0415 - slow to load, and no other needs it

    found = look(find(results), Views.chronicle(subject))
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(found)))
        return
    for happening in found:
        at = datetime.fromtimestamp(happening.at_micros / _MICROS, UTC)
        typer.echo(as_line(f"{at:%H:%M:%S}.{at.microsecond // 1000:03} {happening.what}"))


def last_page(results: Path) -> Path:
    """The page that was written last among those of sessions, nights and playgrounds.

    Raises:
        UsageError: there is none.
    """
    pages = [
        session / _PAGE
        for parent in (results, results / _NIGHTS, results / FOLDER)
        if parent.is_dir()
        for session in parent.iterdir()
        if session.name != NODES_FOLDER and not session.is_symlink()
    ]
    written = [page for page in pages if page.is_file()]
    if not written:
        raise UsageError(
            f"there is no page in {results}: run a scenario first, or name the folder, as in "
            "`fencepost open FOLDER`"
        )
    newest = max(written, key=lambda page: page.stat().st_mtime_ns)
    return page_of(newest.parent.parent)


def page_of(path: Path) -> Path:
    """The page of a run, session or night; of a session with a single run, that of the run.

    Raises:
        UsageError: there is none.
    """
    if path.is_file():
        if path.suffix != ".html":
            raise UsageError(f"{path} is no page: name a page, or the folder of a run")
        return path.resolve()
    page = path / _PAGE
    try:
        runs = find_runs(path) if path.parent.name != _NIGHTS and has_runs(path) else []
    except OSError as error:
        raise RunFolderError(f"{path} can't be read: {error.strerror}") from error
    if len(runs) == 1 and (runs[0].path / _PAGE).is_file():
        page = runs[0].path / _PAGE
    if not is_below(page, path):
        raise UsageError(f"{page} is a page of another folder, {page.resolve()}: open that one")
    if not page.is_file():
        raise UsageError(
            f"{page} is missing: judge the run first, with `fencepost analyze {as_word(path)}`"
        )
    return page.resolve()


def is_graphical() -> bool:
    """Whether a browser can show a page here."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in _GRAPHICAL)
