"""Reports of findings to the maintainers of a client or of Kafka.

`python -m lab.reports page FINDING` prints one.
`python -m lab.reports run FINDING` carries out its steps on a playground, story by story, and
`python -m lab.reports test FINDING FILE COMMAND...` runs its program or its test without a cluster;
both keep what was counted in docs/data, and write the pages. `python -m lab.reports write` writes
all pages.

A finding is files in docs/reports/: `FINDING.yml` has what is known, a program shows it, a patch
fixes it, a test of the project's own harness keeps it fixed. `FINDING.md` is the report, and
`evidence/FINDING.md` what it rests on: stories on clusters, their steps, programs and logs.
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
EVIDENCE = FOLDER / "evidence"
LINES_MAX = 40
"""Of a program."""
WORDS_MAX = 450
"""Of a report, without its code: what a maintainer reads."""
LOG_LINES = 10
_REPORT, _EVIDENCE = (Path(__file__).with_name(f"{name}.md.j2") for name in ("report", "evidence"))
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


class Program(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What runs without a cluster.

    Attributes:
        file: in docs/reports.
        of: what it runs in, such as "librdkafka's mock cluster".
        says: how it is built and run, and what it needs; why it was not run, if so.
    """

    file: str
    of: str
    says: str


class Patch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A proposed fix that was tried: a file of docs/reports, against version `of`."""

    file: str
    of: str
    says: str


class Finding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of a finding without a count. Empty: its report has no such part.

    Attributes:
        project: whose maintainers are meant.
        title: API, condition and effect.
        symptom: what a user sees, in one line.
        program: shows it without a cluster.
        expected: what should happen, and the document that says so.
        source: places that explain it.
        suspected: the change that brought it, and how that is known.
        fix: a patch.
        test: in the project's own harness.
        configuration: of clients and brokers, where not their defaults.
        related: reports of others.
        unknown: what no run and no document shows.
        happens: the story on a cluster, from the fault to what a user sees.
        steps: from a running playground to the result.
        log: a pattern of the lines of the programs' output that show the cause.
        scenario: one whose stories were counted too, in docs/data/report_SCENARIO.json.
        rows: those of its stories that the report shows; the evidence shows all.
        client: a release for pip that shows it, if that of `.venv` does not.
    """

    project: str
    title: str
    symptom: str
    expected: str
    source: list[Place]
    unknown: list[str]
    program: Program | None = None
    suspected: str = ""
    fix: Patch | None = None
    test: Program | None = None
    configuration: str = ""
    related: list[str] = []
    happens: str = ""
    steps: list[Step] = []
    log: str = ""
    scenario: str = ""
    rows: list[str] = []
    client: str = ""

    @property
    def has_faults(self) -> bool:
        """Whether a step injects one."""
        return any(step.fencepost or step.beside for step in self.steps)

    @property
    def programs(self) -> list[str]:
        """Files that run on a cluster, in the order in which they run."""
        return list(dict.fromkeys(step.program.split()[0] for step in self.steps if step.program))

    @property
    def without_cluster(self) -> dict[str, Program]:
        """The program and the test, by their files."""
        return {each.file: each for each in (self.program, self.test) if each}

    @property
    def files(self) -> list[str]:
        """All files of docs/reports that belong to it, besides its pages and its YAML."""
        return [*self.without_cluster, *self.programs, *([self.fix.file] if self.fix else [])]


class Row(msgspec.Struct, frozen=True):
    """The stories of one program with one version.

    Attributes:
        client: the client with its version, as the program printed it.
        kafka: the version of the brokers, or what the program has instead of them.
        sha256: of the program's file.
        is_fixed: whether the proposed fix was in force.
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
    is_fixed: bool = False

    @property
    def interval(self) -> str:
        """Of the share of stories, with a confidence of 95 % (Wilson)."""
        return " to ".join(f"{bound:.0%}" for bound in wilson(self.shown, self.stories))

    @property
    def version(self) -> str:
        """Of the client, without its name."""
        return self.client.rpartition(" ")[2]


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
    """Return the report of a finding, as Markdown.

    Raises:
        UsageError: there is no such finding.
    """
    found = finding(name)
    shown = {*found.rows, *found.without_cluster, *found.programs}
    rows = [row for row in counted_of(name).rows if row.program in shown]
    return _render(_REPORT, name, groups=_groups(rows))


def evidence(name: str) -> str:
    """Return what the report of a finding rests on, as Markdown; empty if it has no steps.

    Raises:
        UsageError: there is no such finding.
    """
    return _render(_EVIDENCE, name) if finding(name).steps else ""


def words_of(text: str) -> int:
    """How many words of a report are read: those outside of code."""
    return len(re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL).split())


def _render(template: Path, name: str, **more: object) -> str:
    found, counted = finding(name), counted_of(name)
    ran = {row.program for row in counted.rows}
    texts = {file: _text(file) for file in found.files}
    shown = {"name": name, "found": found, "counted": counted, "ran": ran, "texts": texts}
    return render(template, **shown, **more) + "\n"


def counted_of(name: str) -> Kept:
    """Return what was counted of a finding, also by the scenario that asks for it."""
    own, scenario = _own(name), finding(name).scenario
    rows = _own(scenario).rows if scenario else []
    return msgspec.structs.replace(own, rows=[*own.rows, *rows])


def _groups(rows: list[Row]) -> list[tuple[Row, list[str]]]:
    """Return rows of one program with equal counts as one row, with the versions of its client."""
    groups: dict[tuple[object, ...], tuple[Row, list[str]]] = {}
    for row in rows:
        name = row.client.removesuffix(row.version)
        key = row.program, name, row.kafka, row.is_fixed, row.shown, row.stories
        groups.setdefault(key, (row, []))[1].append(row.version)
    return list(groups.values())


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
    """Print the report of a finding."""
    typer.echo(page(name), nl=False)


@app.command()
def write() -> None:
    """Write the reports of all findings, and what they rest on."""
    for name in findings():
        _write(name)


Fixed = Annotated[bool, typer.Option("--fixed", help="The proposed fix is in force.")]


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="A finding.")],
    *,
    stories: Annotated[int, typer.Option(help="How often the steps are repeated.", min=1)] = 5,
    kafka: Annotated[str, typer.Option(help="Kafka version of the brokers.")] = DEFAULT_KAFKA,
    client: Annotated[str, typer.Option(help="A Python with another version of it.")] = _PYTHON,
    fixed: Fixed = False,
    results: Results = RESULTS,
) -> None:
    """Repeat the steps of a finding, add what its programs count, and write its pages."""
    found = finding(name)
    terminal = Terminal(client=client, results=results)
    terminal.run(f"{_PLAY} start --kafka {kafka}")
    try:
        for number in range(1, stories + 1):
            began = time.monotonic()
            printed = [(step, terminal.run(step.command, step.beside)) for step in found.steps]
            seconds = round(time.monotonic() - began)
            output = "".join(text for step, text in printed if step.program)
            rows = rows_of(found.programs, output, kafka=kafka, is_fixed=fixed)
            keep_story(name, rows)
            if any(row.shown for row in rows) and not fixed:
                keep_output(name, output, seconds=seconds)
            typer.echo(f"story {number} is kept")
            terminal.run(f"{_PLAY} heal")
    finally:
        terminal.run(f"{_PLAY} stop")
    _write(name)


@app.command(name="test")
def run_test(
    name: Annotated[str, typer.Argument(help="A finding.")],
    file: Annotated[str, typer.Argument(help="Its program, or its test.")],
    command: Annotated[list[str], typer.Argument(help="What runs it, without a cluster.")],
    *,
    stories: Annotated[int, typer.Option(help="How often it runs.", min=1)] = 5,
    version: Annotated[
        str, typer.Option(help="Client and version, of a test that fails by its exit code.")
    ] = "",
    fixed: Fixed = False,
) -> None:
    """Run a program or a test that needs no cluster, add what it counts, and write the pages."""
    known = finding(name).without_cluster
    if file not in known:
        raise UsageError(f"{name} runs without a cluster: {', '.join(known) or 'nothing'}")
    for _ in range(stories):
        ran = subprocess.run(command, check=not version, stdout=PIPE, stderr=STDOUT, text=True)
        last = (
            f"{version}: {int(ran.returncode > 0)} of 1 runs that failed" if version else ran.stdout
        )
        keep_story(name, rows_of([file], last, kafka=known[file].of, is_fixed=fixed))
    _write(name)


def keep_story(name: str, rows: list[Row]) -> None:
    """Add what one story counted to what was counted of the same programs and versions."""
    kept = _own(name)
    keep(_figures(name), msgspec.structs.replace(kept, rows=_add_stories(kept.rows, rows)))


def keep_output(name: str, output: str, *, seconds: int) -> None:
    """Keep what the programs of one story on a cluster printed."""
    lines = output.splitlines()
    kept = msgspec.structs.replace(
        _own(name),
        seconds=seconds,
        output=[line for line in lines if not _OF_LOG.match(line)],
        log=[line for line in lines if re.search(finding(name).log, line)][:LOG_LINES],
    )
    keep(_figures(name), kept)


def rows_of(programs: list[str], output: str, *, kafka: str, is_fixed: bool) -> list[Row]:
    """Return what one story counted.

    Raises:
        NodeError: a program ended without its last line.
    """
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
            is_fixed=is_fixed,
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


def _key(row: Row) -> tuple[str, str, tuple[int, ...], str, bool]:
    name, version = row.client.split()
    return row.program, name, tuple(map(int, re.findall(r"\d+", version))), row.kafka, row.is_fixed


def _write(name: str) -> None:
    pages = {FOLDER / f"{name}.md": page(name), EVIDENCE / f"{name}.md": evidence(name)}
    for file, text in pages.items():
        if text:
            replace_file(file, text.encode())
            typer.echo(f"wrote {file}")


if __name__ == "__main__":
    run_program(app, name="lab.reports")
