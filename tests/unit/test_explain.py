"""The story of a finding, from tables of a few rows; needs no Spark."""

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from histories import TRUNCATED, WENT_ON
from micro import registered, reset_reported, truncated
from pages_of import ALL, finding, phase, result, run_folder
from typer.testing import CliRunner

from analysis.report.explain import app
from analysis.report.run_facts import RunFacts
from analysis.report.story import Story, story
from analysis.verdict.every_finding import FindingsFile, as_table
from contract.errors import RunFolderError, UsageError
from contract.run_folder import RunFolder
from contract.tables import TABLES
from contract.verdicts import (
    FINDINGS_FILE,
    Finding,
    FindingVerdict,
    UnexpectedFindings,
    Verdict,
)
from harness.decode.tables import write_table
from tests.descriptions import complete_rows
from tests.made import make_struct

ACKNOWLEDGED = (
    "receives the last response to 2 values with acks=all from broker {}, leader of epoch {}: ok,"
    " offsets 2 to 3"
)
FAULT = {"fault": "kill", **ALL, "landed": True, "evidence": "{}"}
TIMES = {"injected": 220, "proved": 255, "heal_began": 260, "healed": 270}
ROWS: dict[str, list[dict[str, Any]]] = {
    **WENT_ON,
    "faults": [
        FAULT | {f"{time}_micros": at for time, at in TIMES.items()},
        {**FAULT, "landed": False, "fault": "pause", "injected_micros": 690},
    ],
    "broker_states": [
        registered(fenced=True, at=5),
        registered(fenced=False, at=6),
        registered(fenced=False, at=7),
    ],
    "truncations": [truncated(2, at=280)],
    "resets": [reset_reported("out_of_range", 4, 1, None, at=500)],
    "phases": [{**phase("writing", 50, 700), "stage": "steady"}],
}
LOST = finding(
    verdict=FindingVerdict.PERMITTED, at=100, cause="2 records [red]lost", evidence={"records": 2}
)


def story_of(folder: RunFolder, finding: Finding) -> Story:
    return story(RunFacts(folder), finding)


@pytest.fixture(scope="module")
def collected_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = run_folder(tmp_path_factory.mktemp("collected") / "run")
    for table in TABLES:
        write_table(folder.tables, table, complete_rows(table, ROWS.get(table, [])))
    return folder


@pytest.fixture
def folder(collected_run: RunFolder, tmp_path: Path) -> RunFolder:
    return RunFolder(shutil.copytree(collected_run.path, tmp_path / "run"))


def test_a_story_tells_every_source_in_order(folder: RunFolder) -> None:
    assert [
        (moment.at_micros, moment.who, moment.what) for moment in story_of(folder, LOST).moments
    ] == [
        (5, "controller", "broker 1 is fenced"),
        (6, "controller", "broker 1 is unfenced"),
        (10, "controller", "epoch 0: broker 1 leads, ISR [1]"),
        (50, "run", "steady: writing"),
        (100, "p", "sends the first of 2 values with acks=all"),
        (100, "p", ACKNOWLEDGED.format(1, 0)),
        (150, "g#1", "opened"),
        (200, "g#1", "receives 2 records of epoch 0, offsets 2 to 3"),
        (210, "g#1", "caught up at offset 4"),
        (220, "fault", "kill all injected"),
        (250, "controller", "epoch 1: broker 2 leads, ISR [2]"),
        (255, "fault", "kill all proved: its effect was observed"),
        (260, "fault", "heal of kill all begun"),
        (270, "fault", "kill all healed"),
        (280, "broker 1", "truncates its log to 2"),
        (300, "g", "commits offset 4 with epoch 1"),
        (400, "q", "sends the first of 2 values with acks=all"),
        (400, "q", ACKNOWLEDGED.format(2, 1)),
        (450, "g#2", "opened"),
        (
            500,
            "g#2",
            "resets (out_of_range) from 4, epoch 1: raises (policy earliest)",
        ),
        (650, "g#2", "caught up at offset 6"),
        (690, "fault", "pause all injected"),
    ]


def test_a_story_ends_with_what_each_replica_is_left_with(folder: RunFolder) -> None:
    assert TRUNCATED["log_starts"]
    (end,) = story_of(folder, LOST).ends
    assert end == "broker 1: offsets 0 to 6 (exclusive), epochs 0 from 0, 1 from 2"


def test_a_finding_of_one_group_leaves_the_others_out(folder: RunFolder) -> None:
    of_another = msgspec.structs.replace(LOST, group="another")
    who = {moment.who for moment in story_of(folder, of_another).moments}
    assert not who & {"g", "g#1", "g#2"}


def test_a_finding_without_a_partition_has_only_what_befell_the_cluster(folder: RunFolder) -> None:
    nowhere = msgspec.structs.replace(LOST, topic=None, partition=None)
    assert {moment.who for moment in story_of(folder, nowhere).moments} == {
        "run",
        "fault",
        "controller",
    }


FAR = msgspec.structs.replace(
    LOST, verdict=FindingVerdict.VIOLATION, group="g", cause="one of another group"
)
OF_G = UnexpectedFindings(check="lost_record", group="g", findings=1, number=12, first=FAR)


def write_verdict(folder: RunFolder, **fields: Any) -> None:
    found = result(LOST, LOST, **fields)
    unexpected = [OF_G] if found.findings > 2 else []
    verdict = make_struct(Verdict, checks={"lost_record": found}, unexpected=unexpected)
    (folder.report / "verdict.json").write_bytes(msgspec.json.encode(verdict))


def explain(folder: RunFolder, *arguments: str) -> str:
    return invoke(str(folder.path), *arguments)


def invoke(*arguments: str) -> str:
    ended = CliRunner().invoke(app, list(arguments), standalone_mode=False)
    if ended.exception is not None:
        raise ended.exception
    return ended.output


@pytest.mark.parametrize("finding", ["lost_record", "lost_record:2"])
def test_the_terminal_tells_it_with_markup_escaped(folder: RunFolder, finding: str) -> None:
    write_verdict(folder)
    shown = explain(folder, finding)
    assert "lost_record permitted: 2 records [red]lost" in shown
    assert "truncates its log to 2" in shown
    assert "at the end, broker 1: offsets 0 to 6" in shown


@pytest.mark.parametrize("finding", ["lost_record:3", "lost_record:0", "reset", "lost_record:x"])
def test_an_unknown_finding_is_reported_with_the_known(folder: RunFolder, finding: str) -> None:
    write_verdict(folder)
    with pytest.raises(UsageError, match="lost_record"):
        explain(folder, finding)


@pytest.fixture
def many(folder: RunFolder) -> RunFolder:
    """A run with thirty findings, of which the verdict has two and an unexpected one."""
    counted = {FindingVerdict.VIOLATION: 1, FindingVerdict.PERMITTED: 29}
    write_verdict(folder, findings=30, by_verdict=counted)
    rows = [msgspec.structs.replace(LOST, cause=f"finding {number}") for number in range(1, 31)]
    with FindingsFile(folder.report / FINDINGS_FILE) as file:
        file.keep("lost_record", as_table(rows), {})
    return folder


def test_findings_beyond_the_examples_are_read_from_the_file_of_all(many: RunFolder) -> None:
    assert "finding 30" in explain(many, "lost_record:30")
    with pytest.raises(UsageError, match=r"lost_record \(1 to 30\)"):
        explain(many, "lost_record:31")
    (many.report / FINDINGS_FILE).unlink()
    with pytest.raises(UsageError, match="judge the run again"):
        explain(many, "lost_record:30")


def test_a_check_alone_is_its_first_unexpected_finding(many: RunFolder) -> None:
    assert "one of another group" in explain(many, "lost_record")
    assert "one of another group" in explain(many, "lost_record:12")


def test_what_the_page_shows_is_accepted(many: RunFolder) -> None:
    page = many.report / "index.html"
    shown = explain(many, "lost_record:30")
    assert explain(many, "finding-lost_record-30") == shown
    assert invoke(f"{page}#finding-lost_record-30") == shown
    page.write_text("")
    assert invoke(f"{page.as_uri()}#finding-lost_record-30") == shown
    assert invoke(page.as_uri(), "lost_record:30") == shown


def test_a_long_story_is_folded_unless_all_of_it_is_asked_for(many: RunFolder) -> None:
    folded, whole = explain(many, "lost_record"), explain(many, "lost_record", "--all")
    assert "more events between" in folded
    assert "heal of kill all begun" not in folded
    assert "--all shows every event" in folded
    for line in (moment.what for moment in story_of(many, FAR).moments):
        assert line.split(":")[0][:40] in whole
    assert "--all" not in whole
    for shown in (folded, whole):
        assert [line for line in shown.splitlines() if line.startswith(">")]


def test_without_a_finding_those_of_the_run_are_listed(many: RunFolder) -> None:
    assert explain(many, "--all").splitlines()[::2] == [
        "unexpected lost_record:12 (1 violation)",
        "permitted lost_record:1 (29 permitted)",
    ]


def test_the_name_of_a_finding_is_listed_whole(folder: RunFolder) -> None:
    lost = msgspec.structs.replace(LOST, check="unclean_election_unconfigured", cause="x " * 90)
    counted = {FindingVerdict.VIOLATION: 11_000, FindingVerdict.PERMITTED: 13_000}
    write_verdict(folder, examples=[lost], by_verdict=counted, expected=counted)
    assert "lost_record:1 " in explain(folder, "--all")
    file = folder.report / "verdict.json"
    verdict = msgspec.json.decode(file.read_bytes(), type=Verdict)
    renamed = {lost.check: verdict.checks["lost_record"]}
    file.write_bytes(msgspec.json.encode(msgspec.structs.replace(verdict, checks=renamed)))
    assert f"{lost.check}:1 " in explain(folder, "--all")


def test_a_list_has_what_is_unexpected_and_all_on_request(many: RunFolder) -> None:
    assert [line.rstrip() for line in explain(many).splitlines()] == [
        "unexpected lost_record:12 (1 violation)",
        "    one of another group",
        "expected or permitted, and listed by --all: lost_record",
    ]
    write_verdict(many)
    assert explain(many).startswith("The run has no unexpected or undecided findings.")


def test_a_story_as_json(many: RunFolder) -> None:
    document = json.loads(explain(many, "lost_record", "--json"))
    whole = story_of(many, FAR)
    assert document["name"] == "lost_record:12"
    assert msgspec.convert(document["finding"], Finding) == FAR
    assert [row["what"] for row in document["story"]] == [moment.what for moment in whole.moments]
    assert set(document["story"][0]) == {"at_micros", "seconds", "who", "what", "is_decisive"}
    assert [row["what"] for row in document["story"] if row["is_decisive"]] == [
        getattr(whole.decisive, "what", None)
    ]
    assert document["ends"] == whole.ends
    listed = json.loads(explain(many, "--json"))["findings"]
    assert [row["name"] for row in listed] == ["lost_record:12", "lost_record:1"]


def test_a_damaged_table_is_named(many: RunFolder) -> None:
    (many.tables / "polls.parquet").write_bytes(b"damaged")
    assert "left out: table polls is not a Parquet file" in explain(many, "lost_record")
    document = json.loads(explain(many, "lost_record", "--json"))
    assert [text.partition(":")[0] for text in document["left_out"]] == [
        "table polls is not a Parquet file"
    ]


def test_a_run_that_was_not_judged_says_how(folder: RunFolder) -> None:
    with pytest.raises(RunFolderError, match="fencepost analyze"):
        explain(folder, "lost_record")
