"""Features and expected cells: their files, and what a job makes of the cells that came out."""

import json
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import msgspec
import pytest

from contract.errors import UsageError
from contract.run_folder import GroupPlan
from contract.software import Level
from contract.terms import ResetPolicy
from contract.verdicts import Finding
from extras.conform.command import hazards_of
from extras.conform.expected import (
    Expected,
    Job,
    Result,
    Standing,
    exit_code,
    merge_cells,
    read_expected,
    result_of,
)
from extras.conform.features import CLAIMS, Features, promised_kinds, read_features
from extras.conform.job import Work
from extras.conform.page import badge, junit, write_job
from extras.conform.stories import Told, is_of_the_story, keep_told, read_told, with_causes
from extras.conform.vocabulary import CONTROL, MEETS, Cell, Hazard, Kind, Reader
from tests import golden
from tests.descriptions import plan_of
from tests.made import make_struct

FEATURES = """
client: franz-go
language: Go
level: positions
commits: [explicit, automatic]
resets: [earliest, none]
isolations: [read_committed, read_uncommitted]
claims:
  kip_320: {document: "README, Features"}
"""
EXPECTED = """
- cell: truncation_above.restart.explicit.earliest
  outcome: skips 100
  reason: positions are not validated where a member begins
- cell: leader_change.live.explicit.earliest
  outcome: varies
  reason: by luck
"""


def write_file(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def features_of(tmp_path: Path, text: str = FEATURES) -> Features:
    return read_features(write_file(tmp_path / "features.yml", text))


def test_features_expand_to_readers_and_to_what_is_not_applicable(tmp_path: Path) -> None:
    has = features_of(tmp_path)
    assert [str(reader) for reader in has.readers("guest@franz-go")] == [
        "guest@franz-go///read_committed",
        "guest@franz-go//none/read_committed",
        "guest@franz-go/automatic//read_committed",
        "guest@franz-go/automatic/none/read_committed",
    ]
    assert len(has.readers("guest@franz-go", is_plainest=True)) == 1
    lacking = list(has.lacking("guest@franz-go", [Hazard.EXPIRED]))
    assert {(reader.commit, reader.reset) for reader in lacking} == {
        ("explicit", "latest"),
        ("automatic", "latest"),
    }


def test_every_hazard_is_of_one_claim_and_is_met_somehow() -> None:
    claimed = [hazard for hazards in CLAIMS.values() for hazard in hazards]
    assert sorted(claimed) == sorted(Hazard)
    assert set(MEETS) == set(Hazard)


def test_a_claim_is_broken_by_what_its_policy_does_not_promise(tmp_path: Path) -> None:
    has = features_of(tmp_path)
    above = Hazard.TRUNCATION_ABOVE
    assert has.broken_claim(above, Kind.SKIPS, "earliest") == "README, Features"
    assert has.broken_claim(above, Kind.KEEPS, "earliest") == ""
    assert has.broken_claim(above, Kind.RAISES, "none") == ""
    assert has.broken_claim(above, Kind.RAISES, "earliest") == "README, Features"
    assert has.broken_claim(above, Kind.NOT_EVALUABLE, "earliest") == ""
    assert has.broken_claim(Hazard.EXPIRED, Kind.REPEATS, "earliest") == ""
    assert Kind.SKIPS in promised_kinds(Hazard.EXPIRED, "latest")
    assert Kind.SKIPS not in promised_kinds(above, "latest")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("client: [", r"features.yml:1: it is not YAML"),
        (FEATURES.replace("kip_320", "kip_32"), r"features.yml:9: .*nearest is kip_320"),
        (
            FEATURES.replace("[explicit, automatic]", "[manual]"),
            r"features.yml:5: `commits.0.`: .*'manual': valid are .*explicit.*",
        ),
        (FEATURES.replace("earliest, none", "first"), r"features.yml:6: .*earliest, latest, none"),
        (FEATURES.replace("earliest, none", "none, none"), r"features.yml:6: .*twice"),
        (FEATURES.replace("level: positions", "levels: all"), r"features.yml:1: .*level"),
        (FEATURES.replace("language: Go", "language: ''"), r"features.yml:3: .*it is empty"),
        (FEATURES.replace('"README, Features"', '" "'), r"features.yml:9: .*document"),
    ],
)
def test_a_wrong_features_file_is_told_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        features_of(tmp_path, text)


def test_a_file_that_is_missing_is_told_with_its_option(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--features .*none.yml can't be read"):
        read_features(tmp_path / "none.yml")


def expected_of(tmp_path: Path, text: str = EXPECTED) -> list[Expected]:
    return read_expected(write_file(tmp_path / "expected.yml", text))


def test_expected_cells_have_their_lines(tmp_path: Path) -> None:
    assert [(entry.kind, entry.detail, entry.line) for entry in expected_of(tmp_path)] == [
        (Kind.SKIPS, "100", 2),
        (Kind.VARIES, "", 5),
    ]
    assert expected_of(tmp_path, "") == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("truncation_above.", "truncation_abov.", r"expected.yml:2: .*nearest is truncation_above"),
        (".restart.explicit", ".open.explicit", r"expected.yml:2: .*no part of a cell open"),
        (".explicit.earliest\n  outcome: skips", "\n  outcome: skips", r"expected.yml:2: .*HAZARD"),
        ("skips 100", "keeps its place", r"expected.yml:3: .*no failure"),
        ("skips 100", "skips many", r"expected.yml:3: .*not like `skips 100`"),
        ("varies", "varies often", r"expected.yml:6: .*more than `varies`"),
        ("reason: by luck", "why: by luck", r"expected.yml:5: .*unknown field `why`"),
        (
            "leader_change.live",
            "truncation_above.restart",
            r"expected.yml:5: truncation_above.restart.explicit.earliest is there twice",
        ),
    ],
)
def test_a_wrong_expected_cell_has_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in EXPECTED
    with pytest.raises(UsageError, match=said):
        expected_of(tmp_path, EXPECTED.replace(old, new, 1))


def cell(kind: Kind = Kind.KEEPS, **fields: Any) -> Cell:
    place = {"hazard": "truncation_above", "meets": "restart"}
    given = {"commit": "explicit", "reset": "earliest", "client": "guest@mine"} | place | fields
    return Cell(kind=kind, **given)


SKIPS = cell(Kind.SKIPS, records=100)
NOTHING = cell(Kind.NOT_EVALUABLE, reason="the control failed")


def test_stories_that_agree_have_one_outcome_and_others_vary() -> None:
    assert merge_cells([SKIPS, SKIPS]).words == "skips 100"
    assert merge_cells([SKIPS, cell(Kind.SKIPS, records=98)]).words == "skips 98 to 100"
    assert merge_cells([SKIPS, cell(), cell()]).words == "varies (keeps in 2 of 3)"
    raised = [cell(Kind.RAISES, error=name) for name in ("B", "A")]
    assert merge_cells(raised).words == "raises A or B"
    assert merge_cells([NOTHING, cell()]).words == "keeps its place"
    assert merge_cells([NOTHING]).reason == "the control failed"


HAS = Features(
    client="mine",
    language="Go",
    level=Level.POSITIONS,
    commits=["explicit"],
    resets=[ResetPolicy.EARLIEST],
)


def standing(*cells: Cell, outcome: str = "", alone: Cell | None = None) -> Standing:
    whole = merge_cells(cells)
    entry = Expected(cell=whole.place, outcome=outcome, reason="r", line=7)
    expected = {whole.place: entry} if outcome else {}
    return result_of(whole, expected, HAS, None if alone is None else merge_cells([alone])).standing


def test_a_cell_stands_by_what_is_expected_of_it() -> None:
    assert standing(cell()) is Standing.KEPT
    assert standing(SKIPS) is Standing.UNEXPECTED
    assert standing(SKIPS, outcome="skips") is Standing.EXPECTED
    assert standing(SKIPS, outcome="skips 100") is Standing.EXPECTED
    assert standing(SKIPS, outcome="skips 50") is Standing.UNEXPECTED
    assert standing(cell(), outcome="skips 100") is Standing.BETTER
    assert standing(SKIPS, alone=SKIPS) is Standing.UNEXPECTED
    assert standing(SKIPS, alone=cell()) is Standing.UNCONFIRMED
    assert standing(SKIPS, cell(), outcome="skips") is Standing.UNEXPECTED
    assert standing(NOTHING, outcome="skips") is Standing.NOT_EVALUABLE
    assert standing(NOTHING, alone=NOTHING) is Standing.NOT_EVALUABLE
    assert standing(NOTHING, alone=cell()) is Standing.KEPT
    assert standing(NOTHING, alone=SKIPS) is Standing.UNEXPECTED
    assert standing(NOTHING, alone=SKIPS, outcome="skips") is Standing.EXPECTED
    raised = cell(Kind.RAISES, error="LogTruncation", reset="none")
    assert standing(raised) is Standing.KEPT


def test_an_expectation_that_varies_fails_no_job_by_luck() -> None:
    for cells in ([cell()], [SKIPS], [SKIPS, cell()]):
        assert standing(*cells, outcome="varies") is Standing.EXPECTED
    assert standing(NOTHING, outcome="varies") is Standing.NOT_EVALUABLE


def result(of: Cell, outcome: str = "") -> Result:
    whole = merge_cells([of])
    entry = Expected(cell=whole.place, outcome=outcome, reason="r", line=7)
    return result_of(whole, {whole.place: entry} if outcome else {}, HAS)


LACKING = cell(Kind.NOT_APPLICABLE, reason="the features file lacks it", reset="none")


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ([result(cell()), result(LACKING)], 0),
        ([result(SKIPS, "skips")], 0),
        ([result(cell()), result(SKIPS)], 1),
        ([result(cell(), "skips")], 1),
        ([result(cell()), result(NOTHING)], 2),
        ([result(NOTHING), result(SKIPS)], 1),
        ([result(LACKING)], 2),
    ],
)
def test_the_exit_code_is_that_of_a_verdict(results: list[Result], code: int) -> None:
    assert exit_code(results) == code


def test_an_expected_failure_that_passes_names_the_line_to_remove() -> None:
    assert "remove line 7" in result(cell(), "skips 100").words


def make_told(hazard: Hazard, cells: list[Cell], **fields: Any) -> Told:
    versions = {"guest@mine": "mine 1.0"}
    given: dict[str, Any] = {"readers": "java", "seed": 1, "kafka": "4.4.0", "seconds": 30.0}
    return Told(hazard=hazard, cells=cells, versions=versions, **(given | fields))


def work(*expected: Expected, has: Features = HAS) -> Work:
    hazards = (Hazard.LEADER_CHANGE, Hazard.TRUNCATION_ABOVE)
    return Work("mine", "guest@mine", has, hazards, expected)


MINE_KEPT = cell(hazard="leader_change", meets="live")
OF_CONTROL = cell(client=CONTROL)
STORIES = [
    make_told(Hazard.LEADER_CHANGE, [MINE_KEPT]),
    make_told(Hazard.TRUNCATION_ABOVE, [OF_CONTROL, cell(meets="live"), SKIPS]),
]


def test_what_fails_unexpectedly_or_shows_nothing_is_due_alone() -> None:
    assert work().due_alone(STORIES) == [(Hazard.TRUNCATION_ABOVE, MY_READER)]
    entry = Expected(cell=SKIPS.place, outcome="skips", reason="r")
    assert work(entry).due_alone(STORIES) == []
    nothing = [
        STORIES[0],
        make_told(Hazard.TRUNCATION_ABOVE, [OF_CONTROL, cell(meets="live"), NOTHING]),
    ]
    assert work(entry).due_alone(nothing) == [(Hazard.TRUNCATION_ABOVE, MY_READER)]


MY_READER = Reader(client="guest@mine")


def test_a_job_has_the_cells_of_its_client_only(tmp_path: Path) -> None:
    job = work().job(STORIES, [], home=tmp_path, seed=3, kafka="4.4.0")
    applicable = [
        outcome for outcome in job.results if outcome.standing is not Standing.NOT_APPLICABLE
    ]
    assert [
        (outcome.cell.hazard, outcome.cell.meets, outcome.standing) for outcome in applicable
    ] == [
        ("leader_change", "live", Standing.KEPT),
        ("truncation_above", "live", Standing.KEPT),
        ("truncation_above", "restart", Standing.UNEXPECTED),
    ]
    assert (job.exit_code, job.version, job.badge) == (1, "mine 1.0", "2 of 3 cells kept")


def test_a_failure_that_does_not_come_back_alone_does_not_count(tmp_path: Path) -> None:
    alone = [make_told(Hazard.TRUNCATION_ABOVE, [cell(), cell(meets="live")])]
    job = work().job(STORIES, alone, home=tmp_path, seed=3, kafka="4.4.0")
    assert job.exit_code == 0
    (outcome,) = [each for each in job.results if each.standing is Standing.UNCONFIRMED]
    assert outcome.words == "skips 100; it kept its place when it was run again alone"


def test_an_expected_cell_that_no_story_can_show_is_refused() -> None:
    entry = Expected(cell="expired.restart.automatic.none", outcome="raises", reason="r", line=4)
    with pytest.raises(UsageError, match=r"line 4 .*not applicable"):
        work(entry).require_testable()


@pytest.fixture
def job(tmp_path: Path) -> Job:
    odd = msgspec.structs.replace(SKIPS, error="\x00<b>", causes=["poll_skip: <b> 100 left out"])
    ran = msgspec.structs.replace(STORIES[0], folder="a run")
    (tmp_path / "a run" / "report").mkdir(parents=True)
    (tmp_path / "a run" / "report" / "index.html").touch()
    stories = [ran, make_told(Hazard.TRUNCATION_ABOVE, [cell(meets="live"), odd])]
    return work().job(stories, [], home=tmp_path, seed=3, kafka="4.4.0")


def test_junit_has_a_case_for_each_cell(job: Job) -> None:
    (suite,) = fromstring(junit(job))  # noqa: S314 - written here
    assert (suite.get("failures"), suite.get("errors")) == ("1", "0")
    cases = {f"{case.get('classname')}.{case.get('name')}": case for case in suite.iter("testcase")}
    failure = cases["fencepost.mine.truncation_above.restart.explicit.earliest"].find("failure")
    assert failure is not None
    assert failure.get("message") == "skips 100; it breaks no claim"
    assert failure.text is not None
    assert "\npoll_skip: <b> 100 left out\n" in failure.text
    lacking = cases["fencepost.mine.truncation_above.restart.automatic.none"].find("skipped")
    assert lacking is not None


def test_a_cell_has_what_its_run_found_of_its_group() -> None:
    group = make_struct(
        GroupPlan,
        group="mine",
        client=SKIPS.client,
        reset=SKIPS.reset,
        labels={"meets": SKIPS.meets, "commit": SKIPS.commit},
    )
    found = [
        make_struct(Finding, check=check, group=name, cause=cause)
        for check, name, cause in (
            ("poll_skip", "mine", "100 left out"),
            ("poll_skip", "mine", "200 left out"),
            ("poll_skip", "other", "7 left out"),
            ("failed_client", "mine", "GuestExited: status 3"),
        )
    ]
    cells = with_causes([SKIPS, cell(meets="live")], plan_of(groups=[group]), found)
    causes = ["poll_skip: 100 left out", "failed_client: GuestExited: status 3"]
    assert [each.causes for each in cells] == [causes, []]


def test_the_badge_counts_and_does_not_rank(job: Job) -> None:
    shown = badge(job)
    assert shown["schemaVersion"] == 1
    assert shown["message"] == "2 of 3 cells kept, Kafka 4.4.0"
    assert shown["color"] == "informational"


def test_golden_conform(job: Job, tmp_path: Path) -> None:
    write_job(tmp_path, job)
    texts = [(tmp_path / file).read_text() for file in ("conform.md", "index.html")]
    assert golden.is_golden("conform.txt", texts[0] + golden.outline(texts[1]))
    assert json.loads((tmp_path / "badge.json").read_text())["label"] == "keeps its place"
    assert msgspec.json.decode(msgspec.json.encode(job), type=Job) == job


def test_stories_are_kept(tmp_path: Path) -> None:
    assert read_told(tmp_path) == []
    keep_told(tmp_path, STORIES)
    assert read_told(tmp_path) == STORIES


def test_hazards_are_named_or_all() -> None:
    assert hazards_of("expired, leader_change") == (Hazard.LEADER_CHANGE, Hazard.EXPIRED)
    assert hazards_of("all") == tuple(Hazard)
    with pytest.raises(UsageError, match="nearest is leader_change"):
        hazards_of("leader_chang")


@pytest.mark.parametrize(
    ("error", "is_of_it"),
    [
        ("WaitTimeoutError: orders-0 to be led", True),
        ("could not close worker guest@a: WorkerError: it hung; its request was {}", False),
        ("could not close worker a: it hung; could not close worker b: it hung", False),
        ("could not close worker a: it hung; could not decode the replicas: full", True),
        ("WaitTimeoutError: x; could not close worker a: it hung", True),
    ],
)
def test_a_client_that_hangs_at_its_end_changes_no_story(*, error: str, is_of_it: bool) -> None:
    assert is_of_the_story(error) is is_of_it


def test_a_cell_is_wrong_only_if_it_breaks_a_claim(tmp_path: Path) -> None:
    whole = merge_cells([SKIPS])
    assert result_of(whole, {}, HAS).words == "skips 100; it breaks no claim"
    assert result_of(whole, {}, features_of(tmp_path)).words == (
        "skips 100; wrong by README, Features"
    )
