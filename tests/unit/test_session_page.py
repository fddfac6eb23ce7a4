"""A session's page: what is unexpected first, a matrix of all, each run with its answer."""

import re
from pathlib import Path

import msgspec
import pytest
from pages_of import (
    PERMITTED,
    change_verdict,
    everything,
    finding,
    make_expectation,
    make_unexpected,
    result,
    run_folder,
    verdict_of,
)

from analysis.report.matrix import Run, matrix
from analysis.report.night_rows import Judged
from analysis.report.run_rows import RUNS_MAX
from analysis.report.session_page import name_ours, write_session
from contract.verdicts import (
    CheckVerdict,
    RunVerdict,
    UnexpectedFindings,
    Verdict,
)
from tests import golden

EVIL = "<script>alert(1)</script>"
DUCKTAPE = "<html>\n  <body>\n    <div></div>\n  </body></html>"


def of_java() -> UnexpectedFindings:
    return make_unexpected(finding(group="java.g", client="java"), findings=3, number=2)


def failed_verdict() -> Verdict:
    return verdict_of(
        {"lost_record": result(finding())}, verdict=RunVerdict.FAIL, unexpected=[of_java()]
    )


def write_page(path: Path, *verdicts: Verdict | None) -> str:
    runs = [
        Judged(run_folder(path / f"{at}"), verdict, None if verdict else "the table is damaged")
        for at, verdict in enumerate(verdicts)
    ]
    write_session(path, runs)
    return (path / "report" / "index.html").read_text()


def test_golden_session(tmp_path: Path) -> None:
    calm = verdict_of({"reset": result(finding("reset", verdict=PERMITTED), findings=1_200)})
    text = write_page(tmp_path, calm, failed_verdict(), everything(), None)
    assert golden.is_golden("session.txt", golden.outline(text, tmp_path, Path(tmp_path.name)))
    summary = msgspec.json.decode((tmp_path / "report" / "summary.json").read_bytes())
    assert [run["verdict"] for run in summary["runs"]] == ["pass", "fail", "fail", "undecided"]
    assert summary["runs"][0]["answer"] == "It is so."
    assert (tmp_path / "1" / "report").is_dir()


def test_all_that_runs_say_is_escaped(tmp_path: Path) -> None:
    first = finding(cause=EVIL, group=EVIL)
    evil = change_verdict(
        failed_verdict(),
        answer=EVIL,
        scenario=EVIL,
        parameters={EVIL: EVIL},
        unexpected=[make_unexpected(first)],
    )
    (tmp_path / "report.html").write_text(DUCKTAPE)
    html = write_page(tmp_path, evil, None)
    assert EVIL not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "http" not in html


def test_the_report_of_ducktape_and_ours_name_each_other(tmp_path: Path) -> None:
    assert not name_ours(tmp_path)
    assert 'report.html"' not in write_page(tmp_path, verdict_of({}))
    (tmp_path / "report.html").write_text(DUCKTAPE)
    for _ in range(2):
        assert 'href="../report.html"' in write_page(tmp_path, verdict_of({}))
        theirs = (tmp_path / "report.html").read_text()
        assert theirs.count('<a href="report/index.html">the report of Fencepost</a>') == 1
        assert theirs.index("<body>") < theirs.index("report/index.html") < theirs.index("<div>")


@pytest.mark.parametrize(
    ("verdict", "word"),
    [
        (verdict_of({}), "holds"),
        (verdict_of({}, verdict=RunVerdict.UNDECIDED), "undecided"),
        (verdict_of({"x": result(verdict=CheckVerdict.UNDECIDED)}), "undecided"),
        (verdict_of({}, expectations=[make_expectation("reset")]), "expected"),
        (verdict_of({}, expectations=[make_expectation("reset", findings=0)]), "holds"),
        (verdict_of({}, unexpected=[make_unexpected(finding())]), "unexpected"),
    ],
)
def test_the_cluster_has_what_no_client_has(tmp_path: Path, verdict: Verdict, word: str) -> None:
    made = matrix([Run("a", "4.4.0", "", run_folder(tmp_path).plan(), verdict)])
    (_, (cell, *_)) = made.rows[0]
    assert cell is not None
    assert [entry[0] for entry in cell.entries] == [word]


def test_what_a_canary_must_have_is_expected(tmp_path: Path) -> None:
    plan = run_folder(tmp_path).plan()
    for verdict, client, word in (
        (failed_verdict(), 1, "expected"),
        (verdict_of({}), 0, "unexpected"),
    ):
        made = matrix([Run("a", "4.4.0", "", plan, verdict, must_fail=True)])
        cell = made.rows[0][1][client]
        assert cell is not None
        assert [entry[0] for entry in cell.entries] == [word]


def test_a_long_session_says_what_is_left_out(tmp_path: Path) -> None:
    html = write_page(tmp_path, *[failed_verdict()] * (RUNS_MAX + 5))
    assert "5 more runs: report/summary.json" in html
    assert "More unexpected or undecided runs are in the table below." in html
    assert len(re.findall("<[a-z]", html)) < 5_000
