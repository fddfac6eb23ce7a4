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
    EVIDENCE,
    FOLDER,
    LINES_MAX,
    LOG_LINES,
    WORDS_MAX,
    Beside,
    Finding,
    Kept,
    Program,
    Row,
    Terminal,
    app,
    counted_of,
    evidence,
    finding,
    findings,
    keep_output,
    keep_story,
    page,
    rows_of,
    run_test,
    sha256_of,
    words_of,
)
from tests.made import make_struct
from website.figures import read_figures

FINDINGS = findings()
PRINTED = "librdkafka 2.16.0: {count} of 5 groups whose commit() stored nothing\n"


@pytest.mark.parametrize("name", FINDINGS)
def test_a_page_is_what_its_files_and_figures_make(name: str) -> None:
    assert (FOLDER / f"{name}.md").read_text() == page(name)
    if evidence(name):
        assert (EVIDENCE / f"{name}.md").read_text() == evidence(name)


@pytest.mark.parametrize("name", FINDINGS)
def test_a_report_is_read_in_three_minutes(name: str) -> None:
    assert words_of(page(name)) <= WORDS_MAX
    assert "\n" not in finding(name).symptom.strip()


def test_words_are_those_outside_of_code() -> None:
    assert words_of("one two\n```c\nint main(void) {}\n```\nthree\n") == 3


@pytest.mark.parametrize("name", FINDINGS)
def test_a_program_fits_on_a_page_and_is_the_one_shown(name: str) -> None:
    found = finding(name)
    shown = page(name) + evidence(name)
    for file in found.files:
        text = (FOLDER / file).read_text()
        assert text.strip() in shown, file
        if found.test is None or file != found.test.file:
            assert len(text.splitlines()) <= LINES_MAX, file
        if file.endswith(".py"):
            compile(text, file, "exec")


@pytest.mark.parametrize("name", FINDINGS)
def test_a_fix_was_tried_on_what_fails_without_it(name: str) -> None:
    if finding(name).fix is None:
        return
    rows = counted_of(name).rows
    fixed = [row for row in rows if row.is_fixed]
    assert fixed
    assert [row for row in fixed if row.shown] == []
    without = {(row.program, row.kafka) for row in rows if row.shown and not row.is_fixed}
    assert {(row.program, row.kafka) for row in fixed} <= without


def test_each_file_of_the_folder_belongs_to_a_finding() -> None:
    known = {file for name in FINDINGS for file in finding(name).files}
    known |= {f"{name}.{suffix}" for name in FINDINGS for suffix in ("md", "yml")}
    known |= {"__pycache__", "index.md", EVIDENCE.name}
    assert {file.name for file in FOLDER.iterdir()} <= known
    assert {file.stem for file in EVIDENCE.iterdir()} == {
        name for name in FINDINGS if evidence(name)
    }


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
    assert int(found.has_faults) <= len(commands)
    for command in commands:
        word, verb, target = command.split()
        assert word == "fault", command
        assert str(parse_fault(verb, target).target.name)


@pytest.mark.parametrize("name", FINDINGS)
def test_numbers_of_a_page_are_those_that_were_kept(name: str) -> None:
    figures = counted_of(name)
    counted = evidence(name).partition("## Counted")[2].partition("## Steps")[0]
    rows = figures.rows if counted else []
    assert re.findall(r"\d+ of \d+", counted) == [
        share
        for row in rows
        for share in (f"{row.shown} of {row.stories}", f"{row.count} of {row.of}")
    ]
    shares = {f"{row.shown} of {row.stories}" for row in figures.rows}
    versions = page(name).partition("## Versions")[2].partition("## Not known")[0]
    assert shares.issuperset(re.findall(r"\d+ of \d+", versions))
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


def keep(count: int = 5, kafka: str = "4.4.0", *, is_fixed: bool = False) -> None:
    """Keep one story of a.py."""
    printed = PRINTED.format(count=count)
    keep_story("a", rows_of(["a.py"], printed, kafka=kafka, is_fixed=is_fixed))


def test_stories_add_up_and_versions_stay_beside_each_other(kept_in: Path) -> None:
    for count, kafka in ((5, "4.4.0"), (0, "4.4.0"), (0, "3.9.0")):
        keep(count, kafka)
    keep(0, is_fixed=True)
    figures = read_figures("report_a", Kept, folder=kept_in)
    assert figures.rows == [
        row(kafka="3.9.0", stories=1, shown=0, count=0, of=5),
        row(),
        row(stories=1, shown=0, count=0, of=5, is_fixed=True),
    ]
    assert figures.rows[1].interval == "9% to 91%"


def test_stories_of_a_changed_program_go(kept_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep()
    monkeypatch.setattr(reports, "sha256_of", lambda _: "changed")
    keep(4)
    figures = read_figures("report_a", Kept, folder=kept_in)
    assert figures.rows == [row(sha256="changed", stories=1, count=4, of=5)]


def test_what_a_story_printed_is_kept_beside_its_log(
    kept_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "finding", lambda _: make_struct(Finding, log="not including"))
    lines = ["%7|1.0|OFFSET| not including in commit", "%7|1.0|FETCH| more", "read 0 to 49"]
    keep_output("a", "\n".join(lines), seconds=30)
    kept = read_figures("report_a", Kept, folder=kept_in)
    assert kept == Kept(seconds=30, output=lines[2:], log=lines[:1])


def test_a_program_without_its_last_line_keeps_nothing() -> None:
    with pytest.raises(NodeError, match=r"no result of each of a\.py"):
        rows_of(["a.py"], "Traceback", kafka="4.4.0", is_fixed=False)


def test_a_test_is_counted_by_its_last_line_or_its_exit_code(
    kept_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = {
        key: Program(file=file, of="a mock cluster", says="")
        for key, file in (("program", "a.c"), ("test", "test_a.py"))
    }
    monkeypatch.setattr(reports, "finding", lambda _: make_struct(Finding, **programs))
    monkeypatch.setattr(reports, "_write", lambda _: None)
    runner = CliRunner()
    ran = ["test", "a", "a.c", "--stories", "2", "echo", PRINTED.format(count=1)]
    assert runner.invoke(app, ran).exit_code == 0
    for fixed, command in (([], "false"), (["--fixed"], "true")):
        ran = ["test", "a", "test_a.py", "--version", "librdkafka 2.16.0", *fixed, command]
        assert runner.invoke(app, ran).exit_code == 0
    rows = read_figures("report_a", Kept, folder=kept_in).rows
    assert [(row.program, row.is_fixed, row.shown, row.stories) for row in rows] == [
        ("a.c", False, 2, 2),
        ("test_a.py", False, 5, 5),
        ("test_a.py", True, 0, 5),
    ]
    with pytest.raises(UsageError, match=r"runs without a cluster: a\.c, test_a\.py"):
        run_test("a", "b.c", ["true"])


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
