"""Writes what `fencepost conform` found for people and for machines: a program with its folder."""

from pathlib import Path
from typing import Annotated

import typer

from contract.files import read_described
from contract.program import run_program
from extras.conform.expected import JOB_FILE, Job
from extras.conform.page import write_job

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def conforming(
    home: Annotated[Path, typer.Argument(help="The folder of the job.")],
) -> None:
    """Write the page, JUnit XML and the badge of a job."""
    write_job(home, read_described(home / JOB_FILE, Job))


if __name__ == "__main__":
    run_program(app)
