"""Reports of findings to the maintainers of a client or of Kafka.

`python -m lab.reports page FINDING` prints one.
`python -m lab.reports run FINDING` carries out its commands on a playground, story by story,
keeps what was counted in docs/data, and writes the page. `python -m lab.reports write` writes
all pages.

A finding is three files in docs/reports/: `FINDING.yml` has what is known, a program shows it, and
`FINDING.md` is the page.
"""

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import Annotated

import msgspec
import typer

from analysis.report.words import wilson
from contract.errors import NodeError, UsageError
from contract.files import replace_file
from contract.program import run_program
from harness.commands.options import RESULTS, Results
from harness.commands.requirements import DEFAULT_KAFKA
from website.figures import is_kept, keep, read_figures, render

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "reports"
LINES_MAX = 40
"""Of a program."""
LOG_LINES = 10
_TEMPLATE = Path(__file__).with_name("report.md.j2")
_PLAY, _PYTHON = ".venv/bin/fencepost play", ".venv/bin/python"
_RESULT = re.compile(
    r"^(?P<client>\S+ \d+\.\S+): (?P<count>\d+) of (?P<of>\d+) (?P<what>.+)$", re.MULTILINE
)
"""The last line of a program."""
_OF_LOG = re.compile(r"%\d|\d{4}-\d\d-\d\d ")
"""How a line of a client's log begins."""
app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)


class Beside(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command in a second terminal, once the program has printed `when`."""

    when: str
    fencepost: str


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command of `fencepost play`, or a program of docs/reports with its arguments."""

    fencepost: str = ""
    program: str = ""
    beside: list[Beside] = []

    @property
    def command(self) -> str:
        """The command, from the folder of the repository."""
        if self.fencepost:
            return f"{_PLAY} {self.fencepost}"
        return f"{_PLAY} shell 2 {_PYTHON} docs/reports/{self.program}"


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place in the source; `read`: the version that was read, empty if none was."""

    place: str
    says: str
    read: str = ""


class Finding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of a finding without a count.

    Attributes:
        title: API, condition and effect.
        happens: the story in words, from the fault to what a user sees.
        expected: what should happen, and the document that says so.
        steps: from a running playground to the result.
        log: a pattern of the lines of the program's output that show the cause.
        source: places that explain it.
        related: reports of others.
        scenario: one whose stories were counted too, in docs/data/report_SCENARIO.json.
        client: a release for pip that shows it, if that of `.venv` does not.
        unknown: what no run and no document shows.
        test: a file of docs/reports, for `test_of` of the project itself.
    """

    title: str
    happens: str
    expected: str
    steps: list[Step]
    log: str
    source: list[Place]
    related: list[str]
    unknown: list[str]
    test: str
    test_of: str
    test_says: str
    scenario: str = ""
    client: str = ""

    @property
    def has_faults(self) -> bool:
        """Whether a step injects one."""
        return any(step.fencepost or step.beside for step in self.steps)

    @property
    def programs(self) -> list[str]:
        """Their files, in the order in which they run."""
        return list(dict.fromkeys(step.program.split()[0] for step in self.steps if step.program))


class Row(msgspec.Struct, frozen=True):
    """The stories of one program with one version.

    Attributes:
        client: the client with its version, as the program printed it.
        kafka: the version of the brokers, or what a test has instead of them.
        sha256: of the program's file.
        shown: stories in which at least one was counted.
        count: of what the program counts, over all stories.
    """

    program: str
    client: str
    kafka: str
    sha256: str
    stories: int
    shown: int
    count: int
    of: int
    what: str

    @property
    def interval(self) -> str:
        """Of the share of stories, with a confidence of 95 % (Wilson)."""
        return " to ".join(f"{bound:.0%}" for bound in wilson(self.shown, self.stories))


class Kept(msgspec.Struct, frozen=True):
    """What was counted.

    Attributes:
        seconds: of one story.
        output: what the programs printed in one story, without the lines of `log`.
        log: lines of the client's log in that story.
    """

    rows: list[Row] = []
    seconds: int = 0
    output: list[str] = []
    log: list[str] = []


@dataclass(frozen=True)
class Terminal:
    """Runs the commands of a page, from the folder of the repository.

    Attributes:
        client: a Python with the client, in the place of the one that the page names.
        results: of the playground.
    """

    client: str
    results: Path

    def run(self, command: str, beside: Sequence[Beside] = ()) -> str:
        """Run a command, and those beside it when their lines are printed; return its output.

        Raises:
            NodeError: it failed.
        """
        waiting, printed = list(beside), ""
        with subprocess.Popen(
            self._argv(command), cwd=ROOT, stdout=PIPE, stderr=STDOUT, text=True
        ) as started:
            for line in started.stdout or ():
                printed += line
                if waiting and waiting[0].when in line:
                    self.run(f"{_PLAY} {waiting.pop(0).fencepost}")
        if started.returncode:
            raise NodeError(f"{command} exited {started.returncode}:\n{printed}")
        return printed

    def _argv(self, command: str) -> list[str]:
        words = [self.client if word == _PYTHON else word for word in command.split()]
        if not command.startswith(_PLAY):
            return words
        options = ["--results", str(self.results)]
        return [sys.executable, "-m", "harness", *words[1:3], *options, *words[3:]]


def findings() -> list[str]:
    """Return the names of all findings."""
    return sorted(path.stem for path in FOLDER.glob("*.yml"))


def finding(name: str) -> Finding:
    """Read a finding.

    Raises:
        UsageError: there is none of this name.
    """
    if name not in findings():
        raise UsageError(f"there is no finding {name!r}; there are: {', '.join(findings())}")
    return msgspec.yaml.decode((FOLDER / f"{name}.yml").read_bytes(), type=Finding)


def page(name: str) -> str:
    """Return the page of a finding, as Markdown.

    Raises:
        UsageError: there is no such finding.
    """
    found = finding(name)
    counted = counted_of(name)
    ran = {row.program for row in counted.rows}
    return (
        render(
            _TEMPLATE,
            found=found,
            counted=counted,
            not_run=[file for file in (*found.programs, found.test) if file not in ran],
            programs={program: _text(program) for program in found.programs},
            test=_text(found.test),
            language=found.test.rpartition(".")[2],
        )
        + "\n"
    )


def counted_of(name: str) -> Kept:
    """Return what was counted of a finding, also by the scenario that asks for it."""
    own, scenario = _own(name), finding(name).scenario
    rows = _own(scenario).rows if scenario else []
    return msgspec.structs.replace(own, rows=[*own.rows, *rows])


def _own(name: str) -> Kept:
    """Return what its own steps and test counted, or the stories of a scenario."""
    return read_figures(_figures(name), Kept) if is_kept(_figures(name)) else Kept()


def _text(file: str) -> str:
    return (FOLDER / file).read_text().strip()


def _figures(name: str) -> str:
    return f"report_{name}"


@app.command(name="list")
def list_findings() -> None:
    """List the findings, with their titles."""
    for name in findings():
        typer.echo(f"{name}: {finding(name).title}")


@app.command(name="page")
def show(name: Annotated[str, typer.Argument(help="A finding.")]) -> None:
    """Print the page of a finding."""
    typer.echo(page(name), nl=False)


@app.command()
def write() -> None:
    """Write the pages of all findings."""
    for name in findings():
        _write(name)


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="A finding.")],
    *,
    stories: Annotated[int, typer.Option(help="How often the steps are repeated.", min=1)] = 5,
    kafka: Annotated[str, typer.Option(help="Kafka version of the brokers.")] = DEFAULT_KAFKA,
    client: Annotated[str, typer.Option(help="A Python with another version of it.")] = _PYTHON,
    results: Results = RESULTS,
) -> None:
    """Repeat the steps of a finding, add what its programs count, and write its page."""
    found = finding(name)
    terminal = Terminal(client=client, results=results)
    terminal.run(f"{_PLAY} start --kafka {kafka}")
    try:
        for number in range(1, stories + 1):
            began = time.monotonic()
            printed = [(step, terminal.run(step.command, step.beside)) for step in found.steps]
            seconds = round(time.monotonic() - began)
            output = "".join(text for step, text in printed if step.program)
            keep_story(name, found, output, kafka=kafka, seconds=seconds)
            typer.echo(f"story {number} is kept")
            terminal.run(f"{_PLAY} heal")
    finally:
        terminal.run(f"{_PLAY} stop")
    _write(name)


@app.command(name="test")
def run_test(
    name: Annotated[str, typer.Argument(help="A finding.")],
    command: Annotated[list[str], typer.Argument(help="What runs its test, without a cluster.")],
    *,
    stories: Annotated[int, typer.Option(help="How often it runs.", min=1)] = 5,
) -> None:
    """Run the test of a finding in the project's own harness, and add what it counts."""
    found = finding(name)
    for _ in range(stories):
        ran = subprocess.run(command, check=True, capture_output=True, text=True)
        keep_story(name, found, ran.stdout, kafka=found.test_of)
    _write(name)


def keep_story(name: str, found: Finding, output: str, *, kafka: str, seconds: int = 0) -> None:
    """Add what one story printed to what was counted of the same programs and versions.

    The output itself is kept if it shows the finding, unless it is that of the test.

    Raises:
        NodeError: a program ended without its last line.
    """
    figures = _own(name)
    programs = [found.test] if kafka == found.test_of else found.programs
    rows = _rows(programs, output, kafka=kafka)
    figures = msgspec.structs.replace(figures, rows=_add_stories(figures.rows, rows))
    if programs == found.programs and any(row.shown for row in rows):
        lines = output.splitlines()
        figures = Kept(
            rows=figures.rows,
            seconds=seconds,
            output=[line for line in lines if not _OF_LOG.match(line)],
            log=[line for line in lines if re.search(found.log, line)][:LOG_LINES],
        )
    keep(_figures(name), figures)


def _rows(programs: list[str], output: str, *, kafka: str) -> list[Row]:
    results = list(_RESULT.finditer(output))
    if len(results) != len(programs):
        raise NodeError(f"no result of each of {', '.join(programs)}:\n{output}")
    return [
        Row(
            program=program,
            client=result["client"],
            kafka=kafka,
            sha256=sha256_of(program),
            stories=1,
            shown=int(int(result["count"]) > 0),
            count=int(result["count"]),
            of=int(result["of"]),
            what=result["what"],
        )
        for program, result in zip(programs, results, strict=True)
    ]


def sha256_of(file: str) -> str:
    """Return the SHA-256 of a file of docs/reports."""
    return sha256((FOLDER / file).read_bytes()).hexdigest()


def _add_stories(rows: list[Row], stories: list[Row]) -> list[Row]:
    """Return rows with these stories; those of a program that was changed since are gone."""
    found = {_key(row): row for row in rows}
    for story in stories:
        before = found.get(_key(story))
        if before is None or before.sha256 != story.sha256:
            found[_key(story)] = story
            continue
        found[_key(story)] = msgspec.structs.replace(
            before,
            stories=before.stories + 1,
            shown=before.shown + story.shown,
            count=before.count + story.count,
            of=before.of + story.of,
        )
    return [found[key] for key in sorted(found)]


def _key(row: Row) -> tuple[str, str, tuple[int, ...], str]:
    name, version = row.client.split()
    return row.program, name, tuple(map(int, re.findall(r"\d+", version))), row.kafka


def _write(name: str) -> None:
    file = FOLDER / f"{name}.md"
    replace_file(file, page(name).encode())
    typer.echo(f"wrote {file}")


if __name__ == "__main__":
    run_program(app, name="lab.reports")
