"""Judges runs as they end: a program to which one process names them one after the other.

A line of standard input is the folder of a run, as JSON, and why there is none in it. When the run
is judged and its report is written, the program prints a line of JSON: why it could not be judged,
or an empty string. When standard input closes, it writes the page of all, and the store. A run of a
series is judged in this process, as in a task of Spark (docs/decisions/0035).
"""

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from analysis.engine.prepared import ensure
from analysis.report.night_rows import Judged
from analysis.report.outputs import write_session_outputs
from analysis.report.session_page import write_session
from analysis.store import write_store
from analysis.tasks import Share, judge_here
from contract.program import run_program
from contract.run_folder import RunFolder

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def series(
    home: Annotated[Path, typer.Argument(help="The folder of the series.")],
    store: Annotated[
        str | None, typer.Option(help="Folder of the store of all findings and verdicts.")
    ] = None,
) -> None:
    """Judge runs that are named on standard input, until it closes."""
    ensure()
    judged: list[Judged] = []
    # What libraries print must not come between the responses.
    with os.fdopen(os.dup(1), "w") as responses:
        os.dup2(2, 1)
        for line in sys.stdin:
            path, problem = json.loads(line)
            folder = RunFolder(Path(path))
            run = Judged(folder, None, problem) if problem else judge_here(Share(at_once=1), folder)
            judged.append(run)
            responses.write(json.dumps(run.error or "") + "\n")
            responses.flush()
    write_session(home, judged)
    write_session_outputs(home, judged)
    stored = [(done, str(done.folder.path)) for done in judged if done.verdict is not None]
    if store is not None and stored:
        write_store(stored, store)


if __name__ == "__main__":
    run_program(app)
