"""The reports to maintainers: their pages, programs, steps and figures."""

import re
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from contract.errors import NodeError, UsageError
from harness.faults.language import parse_fault
from lab import reports
from lab.reports import (
    FOLDER,
    LINES_MAX,
    LOG_LINES,
    Beside,
    Finding,
    Kept,
    Row,
    Step,
    Terminal,
    app,
    counted_of,
    finding,
    findings,
    keep_story,
    page,
    sha256_of,
)
from tests.made import make_struct
from website.figures import read_figures

FINDINGS = findings()
PROGRAMS = [FOLDER / program for name in FINDINGS for program in finding(name).programs]
TESTS = [FOLDER / finding(name).test for name in FINDINGS]
PRINTED = """\
read 0 to 49
%7|1.0|OFFSET| [thrd:main]: not including in commit
librdkafka 2.16.0: {count} of 5 groups whose commit() stored nothing
"""


@pytest.mark.parametrize("name", FINDINGS)
def test_a_page_is_what_its_files_and_figures_make(name: str) -> None:
    assert (FOLDER / f"{name}.md").read_text() == page(name)


@pytest.mark.parametrize("file", [*PROGRAMS, *TESTS], ids=lambda file: file.name)
def test_a_program_fits_on_a_page_and_is_the_one_shown(file: Path) -> None:
    text = file.read_text()
    assert len(text.splitlines()) <= LINES_MAX
    assert any(text.strip() in page(name) for name in FINDINGS)
    if file.suffix == ".py":
        compile(text, file.name, "exec")


def test_each_file_of_the_folder_belongs_to_a_finding() -> None:
    known = {file.name for file in (*PROGRAMS, *TESTS)}
    known |= {f"{name}.{suffix}" for name in FINDINGS for suffix in ("md", "yml")}
    assert {file.name for file in FOLDER.iterdir()} - {"__pycache__", "index.md"} == known


@pytest.mark.parametrize("name", FINDINGS)
def test_what_stands_behind_a_hash_is_no_comment(name: str) -> None:
    """Numbers of issues begin with one."""
    text = (FOLDER / f"{name}.yml").read_text()
    assert re.findall(r'^- [^"\n]* #.*$', text, re.MULTILINE) == []


@pytest.mark.parametrize("name", FINDINGS)
def test_faults_of_the_steps_can_be_injected(name: str) -> None:
    found = finding(name)
    steps = found.steps
    commands = [step.fencepost for step in steps if step.fencepost not in ("", "heal")]
    commands += [fault.fencepost for step in steps for fault in step.beside]
    assert int(found.has_faults) <= len(commands) <= 2
    for command in commands:
        word, verb, target = command.split()
        assert word == "fault", command
        assert str(parse_fault(verb, target).target.name)


@pytest.mark.parametrize("name", FINDINGS)
def test_numbers_of_a_page_are_those_that_were_kept(name: str) -> None:
    figures = counted_of(name)
    counted = page(name).partition("## Counted")[2].partition("## Expected")[0]
    shares = re.findall(r"\d+ of \d+", counted)
    assert shares == [
        share
        for row in figures.rows
        for share in (f"{row.shown} of {row.stories}", f"{row.count} of {row.of}")
    ]
    assert any(row.shown for row in figures.rows)
    assert len(figures.log) <= LOG_LINES


@pytest.mark.parametrize("name", FINDINGS)
def test_what_was_counted_is_of_the_programs_as_they_are(name: str) -> None:
    rows = [row for row in counted_of(name).rows if (FOLDER / row.program).exists()]
    assert [row for row in rows if row.sha256 != sha256_of(row.program)] == []


def row(**changed: object) -> Row:
    values = {
        "program": "a.py",
        "client": "librdkafka 2.16.0",
        "kafka": "4.4.0",
        "sha256": "same",
        "stories": 2,
        "shown": 1,
        "count": 5,
        "of": 10,
        "what": "groups whose commit() stored nothing",
    }
    return Row(**{**values, **changed})  # type: ignore[arg-type]


@pytest.fixture
def kept_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Figures are kept in this folder, of programs that are not there."""
    monkeypatch.setattr(reports, "sha256_of", lambda _: "same")
    for name in ("keep", "read_figures", "is_kept"):
        monkeypatch.setattr(reports, name, partial(getattr(reports, name), folder=tmp_path))
    return tmp_path


def finding_of(*steps: Step) -> Finding:
    test = {"test": "a.c", "test_of": "a mock cluster"}
    return make_struct(Finding, steps=list(steps), log="not including", **test)


def test_stories_add_up_and_versions_stay_beside_each_other(kept_in: Path) -> None:
    found = finding_of(Step(program="a.py before"), Step(program="a.py"))
    assert found.programs == ["a.py"]
    for count, kafka in ((5, "4.4.0"), (0, "4.4.0"), (0, "3.9.0")):
        keep_story("a", found, PRINTED.format(count=count), kafka=kafka, seconds=30 + count)
    figures = read_figures("report_a", Kept, folder=kept_in)
    assert figures.rows == [row(kafka="3.9.0", stories=1, shown=0, count=0, of=5), row()]
    assert figures.rows[1].interval == "9% to 91%"
    assert figures.seconds == 35, "of the story that shows it"
    assert figures.log == ["%7|1.0|OFFSET| [thrd:main]: not including in commit"]
    assert figures.output[0] == "read 0 to 49"


def test_stories_of_a_changed_program_go(kept_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = finding_of(Step(program="a.py"))
    keep_story("a", found, PRINTED.format(count=5), kafka="4.4.0", seconds=30)
    monkeypatch.setattr(reports, "sha256_of", lambda _: "changed")
    keep_story("a", found, PRINTED.format(count=4), kafka="4.4.0", seconds=30)
    figures = read_figures("report_a", Kept, folder=kept_in)
    assert figures.rows == [row(sha256="changed", stories=1, count=4, of=5)]


def test_a_test_is_counted_and_shows_no_log(kept_in: Path) -> None:
    found = finding_of(Step(program="a.py"))
    keep_story("a", found, PRINTED.format(count=1), kafka=found.test_of)
    figures = read_figures("report_a", Kept, folder=kept_in)
    assert [(figure.program, figure.kafka) for figure in figures.rows] == [
        ("a.c", "a mock cluster")
    ]
    assert figures.log == figures.output == []


def test_a_program_without_its_last_line_keeps_nothing(kept_in: Path) -> None:
    found = finding_of(Step(program="a.py"))
    with pytest.raises(NodeError, match=r"no result of each of a\.py"):
        keep_story("a", found, "Traceback", kafka="4.4.0")
    assert list(kept_in.iterdir()) == []


def test_a_failed_command_ends_the_run_and_is_named(tmp_path: Path) -> None:
    with pytest.raises(NodeError, match="false exited 1"):
        Terminal(client="python3", results=tmp_path).run("false")


def test_a_command_beside_runs_when_its_line_is_printed(tmp_path: Path) -> None:
    """It is refused, since no playground runs there."""
    terminal = Terminal(client="python3", results=tmp_path)
    with pytest.raises(NodeError, match="fencepost play heal exited 64"):
        terminal.run("echo go on", [Beside(when="go", fencepost="heal")])
    assert terminal.run("echo go on", [Beside(when="stop", fencepost="heal")]) == "go on\n"


def test_the_command_prints_a_page_and_lists_all() -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["page", FINDINGS[0]]).stdout == page(FINDINGS[0])
    assert runner.invoke(app, ["list"]).stdout.split()[0] == f"{FINDINGS[0]}:"
    with pytest.raises(UsageError, match=f"there are: {FINDINGS[0]}"):
        finding("nothing")
