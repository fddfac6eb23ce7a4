"""Names and texts of any kind: written, shown, and no orders to a terminal or program."""

import io
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pages_of import run_folder, verdict_of
from rich.progress import Progress, TextColumn
from rich.table import Table
from rich.text import Text

from analysis.engine.hadoop import in_full
from analysis.report.night_rows import Judged
from analysis.report.outputs import as_json, write_session_outputs, xml_document
from analysis.report.session_page import write_session
from analysis.report.terminal import show
from analysis.tasks import Share, judge_here
from cluster.refusal import refusal_in, refuse
from contract.errors import UsageError
from contract.events import as_json as encoded
from contract.events import encodable
from contract.files import as_word
from contract.program import Terminal, as_line, escape_orders, plain, say
from contract.run_folder import RunFolder
from contract.terms import Stage
from harness.clients.history import HistoryWriter
from harness.commands import judging, reports
from harness.session.account import Failed, report
from harness.story.phases import PREFIX, Phases
from simulator.history import Request, description, universes_of, write_history
from tests.conftest import Fencepost
from tests.descriptions import plan_of

# A name that begins with a dash is a name, for the program and for each of its children.

DASHES = ("-dash", "--help", "--store=x", "-")


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The commands of children, which are not run."""
    commands: list[list[str]] = []

    def run(argv: Sequence[str], **_: Any) -> int:
        commands.append(list(argv))
        return 0

    for module in (judging, reports):
        monkeypatch.setattr(module, "run_child", run)
    monkeypatch.chdir(tmp_path)
    return commands


@pytest.mark.parametrize("name", DASHES)
def test_names_follow_options(name: str, children: list[list[str]], fencepost: Fencepost) -> None:
    page = Path(name, "report", "index.html")
    page.parent.mkdir(parents=True)
    page.touch()
    judging.analyse_in_own_process([Path(name)], master="local[1]", conf=["spark.a=b"])
    for call in (("explain", "--all", "--json"), ("open", "--standalone", f"{name}.html")):
        finding = ["lost_record:1"] if call[0] == "explain" else []
        assert fencepost(*call, "--", name, *finding).returncode == 0
    after = [command[command.index("--") + 1 :] for command in children]
    assert after == [
        [name],
        [name, "lost_record:1"],
        [str(page.resolve()), f"{name}.html"],
    ]


@pytest.mark.parametrize("name", DASHES)
def test_a_command_that_is_printed_names_it_as_a_path(name: str) -> None:
    assert as_word(Path(name)) == f"./{name}"
    assert as_word("results/-x y") == "'results/-x y'"


@pytest.mark.parametrize("name", ["--help", "-"])
@pytest.mark.parametrize("command", ["analyze", "explain"])
def test_it_is_looked_for(
    name: str,
    command: str,
    fencepost: Fencepost,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = fencepost(command, "--", name)
    assert ended.returncode == 64
    assert f"no run at or below {name}:" in ended.stderr


# Runs in folders whose names are no text, or would be orders to a terminal, have reports.

NAMES = {
    "no UTF-8": (os.fsdecode(b"caf\xe9"), r"caf\xe9"),
    "escapes": ("a\x1b[2Jb\x07", r"a\x1b[2Jb\x07"),
    "turned": ("a\u202eb", r"a\u202eb"),
    "markup": ("<b>&[red]", "<b>&[red]"),
}
ORDERS = set("\x1b\x07\u202e")


@pytest.mark.parametrize("kind", sorted(NAMES))
def test_a_session_of_an_odd_name_has_all_outputs(tmp_path: Path, kind: str) -> None:
    name, reported = NAMES[kind]
    session = tmp_path / name
    (session / "report").mkdir(parents=True)
    runs = [
        Judged(run_folder(session / name), verdict_of({})),
        Judged(RunFolder(session / f"{name}-2"), None, f"the tables of {reported} are gone", 64),
    ]
    write_session(session, runs)
    write_session_outputs(session, runs)
    report = session / "report"
    page = (report / "index.html").read_text()
    link = page.partition('href="../')[2].partition('"')[0]
    assert (report / "..").joinpath(os.fsdecode(unquote_bytes(link))).parent.is_dir()
    rows = msgspec.json.decode((report / "summary.json").read_bytes())["runs"]
    assert rows[1]["error"] == f"the tables of {reported} are gone"
    summary, metrics = ((report / output).read_text() for output in ("summary.md", "metrics.txt"))
    assert not ORDERS & set(summary + metrics)
    assert ET.fromstring((report / "junit.xml").read_bytes()) is not None  # noqa: S314
    assert as_json(runs, [])


def unquote_bytes(link: str) -> bytes:
    from urllib.parse import unquote_to_bytes  # noqa: PLC0415 - as bytes, not as text

    return unquote_to_bytes(link)


@pytest.mark.usefixtures("by_one_check")
@pytest.mark.parametrize("kind", ["escapes", "no UTF-8"])
def test_a_run_of_an_odd_name_is_judged_or_says_why_not(tmp_path: Path, kind: str) -> None:
    name, reported = NAMES[kind]
    folder = RunFolder(tmp_path / name)
    universes = universes_of(Request(events=1_000, seed=1))
    write_history(folder, universes, description(1, "test", "0", {}))
    found = judge_here(Share(at_once=1), folder)
    assert found.verdict is not None, found.error
    (folder.path / "plan.json").write_text("{")
    error = judge_here(Share(at_once=1), folder).error
    assert error is not None
    error.encode()
    assert kind != "no UTF-8" or reported in error


def test_spark_refuses_a_name_that_java_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"caf\\xe9, whose name is not UTF-8"):
        in_full(tmp_path / NAMES["no UTF-8"][0])


# Whatever text a scenario has is written: what UTF-8 has no code for is escaped.

HALVES = "half \udcff of a \ud800 pair, é"
ESCAPED = r"half \udcff of a \ud800 pair, é"


def test_only_what_has_no_code_is_escaped() -> None:
    assert encodable(HALVES) == ESCAPED
    assert encodable("é 🙂") == "é 🙂"
    assert msgspec.json.decode(encoded({HALVES: [HALVES, 1, None]})) == {
        ESCAPED: [ESCAPED, 1, None]
    }
    assert encoded({"b": 1, "a": "é"}) == msgspec.json.encode({"b": 1, "a": "é"})


def test_files_of_a_run_take_any_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    RunFolder(tmp_path).write_plan(plan_of(question=HALVES, parameters={"a": HALVES}))
    assert RunFolder(tmp_path).plan().question == ESCAPED
    history = HistoryWriter(tmp_path / "driver.jsonl")
    phases = Phases(history)
    phases.enter(Stage.HELD, HALVES)
    phases.end()
    history.close()
    assert capsys.readouterr().out == f"{PREFIX}{Stage.HELD}: {ESCAPED}\n"
    line = msgspec.json.decode((tmp_path / "driver.jsonl").read_bytes())
    assert line["doing"] == ESCAPED


def test_lines_of_a_process_take_any_text(capsys: pytest.CaptureFixture[str]) -> None:
    refuse(UsageError(HALVES))
    report(Failed(test="t", why=HALVES))
    refused, failed = capsys.readouterr().out.splitlines()
    assert str(refusal_in([refused])) == ESCAPED
    assert failed.endswith(encoded(Failed(test="t", why=ESCAPED)).decode())


# Names reach no terminal as orders: neither as its escapes nor as rich's markup.

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


def test_an_error_is_reported_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    say(NAME)
    assert capsys.readouterr().err == f"error: {SHOWN}\n"


def test_bytes_that_are_no_text_are_shown_as_bytes() -> None:
    assert escape_orders(os.fsdecode(b"a\xff\xe9")) == r"a\xff\xe9"
    assert escape_orders("\ud800") == r"\ud800"
    assert escape_orders("tab\tand\nlines, é and 漢字") == "tab\tand\nlines, é and 漢字"


# Whatever a text has, a line of a log is no command, a Markdown summary has no mention and no link,
# and JUnit's XML is whole.

PARTS = st.sampled_from(
    [
        *(
            "::error::x",
            "::",
            "\n",
            "\r",
            "\u2028",
            "\xa0",
            "\t",
            " ",
            "##[error]",
            "##vso[x]",
            "\x1b[0m",
        ),
        *(
            "@team",
            "@",
            "https://a.b",
            "HTTP",
            "://",
            ":",
            "/",
            "www.",
            "WWW",
            ".",
            "a.b",
            "GH-",
            "12",
        ),
        *(
            "#",
            "<",
            ">",
            "<!--",
            "-->",
            "[x](y)",
            "![",
            "|",
            "`",
            "*",
            "_",
            "~",
            "\\",
            "&#64;",
            "&lt;",
        ),
        *("\x00", "\ud800", "\ufffe", "]]>", "x"),
    ]
)
ANY = st.lists(PARTS | st.characters() | st.text(), max_size=12).map("".join)
COMMAND = re.compile(r"^\s*::|##\w*\[", re.MULTILINE)
LIVE = re.compile(r"@\w|://|www\.|#\d|GH-\d", re.IGNORECASE)
MARKDOWN = MarkdownIt().enable("table").enable("strikethrough")


@given(text=ANY, width=st.integers(20, 60))
def test_no_text_is_a_command_of_a_log(text: str, width: int) -> None:
    assert "\n" not in as_line(text)
    assert not COMMAND.search(as_line(text))
    table = Table(text, text)
    table.add_row(text, "b")
    for printed in (text, Text(text), table):
        out = io.StringIO()
        Terminal(file=out, width=width).print(printed, highlight=False)
        assert not COMMAND.search(out.getvalue())


@given(text=ANY)
def test_no_text_is_live_in_markdown(text: str) -> None:
    shown = plain(text)
    document = f"# {shown}\n\n- **{shown}**: {shown}\n\n| a |\n|---|\n| {shown} |\n"
    for block in MARKDOWN.parse(document):
        for token in block.children or ():
            assert token.type in {
                "text",
                "text_special",
                "strong_open",
                "strong_close",
                "html_inline",
            }
            assert token.type != "html_inline" or token.content == "<!-- -->"
            assert token.type != "text" or not LIVE.search(token.content)


@given(text=ANY)
def test_no_text_breaks_the_xml(text: str) -> None:
    root = ET.Element("testsuites", name=text)
    ET.SubElement(root, "testcase", name=text).text = text
    found = ET.fromstring(xml_document(root))  # noqa: S314 - written here
    assert [element.tag for element in found.iter()] == ["testsuites", "testcase"]


def test_an_answer_with_lines_is_one_line_and_no_command() -> None:
    answer = "Yes.\n::error file=x::y\n##[error]z"
    out = io.StringIO()
    show(verdict_of({}, answer=answer), Terminal(file=out, width=80))
    assert r"Yes. ::error file=x::y \x23#[error]z" in out.getvalue().splitlines()
