"""Values, outcomes, waiting and run folders."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.errors import RunFolderError, UsageError, WaitTimeoutError
from contract.outcomes import (
    DEFINITE_COMMIT_FAILURES,
    NO_OFFSET,
    Outcome,
    commit_outcome,
    is_fencing,
    send_outcome,
    transaction_outcome,
)
from contract.refusal import refusal_in, refuse
from contract.run_folder import NODES_FOLDER, PLAN_FILE, RunFolder, find_runs
from contract.values import is_intact, make_value
from contract.waiting import wait_until


@given(
    st.text(st.characters(exclude_characters=":", exclude_categories=["Cs"])),
    st.integers(0, 10**18 - 1),
)
def test_a_value_is_intact_until_it_is_changed(producer: str, sequence: int) -> None:
    value = make_value(producer, sequence)
    assert is_intact(value)
    assert not is_intact("x" + value)


@pytest.mark.parametrize("value", ["", "no checksum", "p:1:"])
def test_what_we_did_not_make_is_not_intact(value: str) -> None:
    assert not is_intact(value)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, Outcome.OK),
        ("RecordTooLargeException", Outcome.FAILED),
        ("TimeoutException", Outcome.UNKNOWN),
        ("NotEnoughReplicasAfterAppendException", Outcome.UNKNOWN),
        ("SomethingNew", Outcome.UNKNOWN),
    ],
)
def test_a_send_failed_only_where_that_is_sure(error: str | None, outcome: Outcome) -> None:
    assert send_outcome(error) is outcome


def test_a_commit_of_an_old_member_surely_failed() -> None:
    java = DEFINITE_COMMIT_FAILURES
    assert commit_outcome("CommitFailedException", java) is Outcome.FAILED
    assert commit_outcome("TimeoutException", java) is Outcome.UNKNOWN
    assert commit_outcome(None, java) is Outcome.OK
    assert commit_outcome(NO_OFFSET, java) is Outcome.NOTHING


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, Outcome.OK),
        ("ProducerFencedException", Outcome.FAILED),
        ("InvalidProducerEpochException", Outcome.FAILED),
        ("InvalidTxnStateException", Outcome.FAILED),
        ("TimeoutException", Outcome.UNKNOWN),
    ],
)
def test_a_step_of_a_transaction_failed_only_where_that_is_sure(
    error: str | None, outcome: Outcome
) -> None:
    assert transaction_outcome(error) is outcome


def test_a_fenced_producer_is_told_by_its_error() -> None:
    assert is_fencing("InvalidProducerEpochException")
    assert not is_fencing("InvalidTxnStateException")
    assert not is_fencing(None)


def test_waiting_returns_what_came() -> None:
    values = iter([None, False, 7])
    assert wait_until(lambda: next(values), what="seven", timeout_seconds=5) == 7


def test_waiting_in_vain_tells_the_whole_story() -> None:
    with pytest.raises(WaitTimeoutError) as failure:
        wait_until(
            lambda: None,
            what="a leader",
            timeout_seconds=0,
            hint="start a broker",
            recent=lambda: "last line",
            last_seen=lambda: "leader -1",
        )
    for part in ("0 s for a leader", "leader -1", "start a broker", "last line"):
        assert part in str(failure.value)


def test_runs_are_found_below_a_session(tmp_path: Path) -> None:
    run = tmp_path / "Scenario" / "test" / "0"
    run.mkdir(parents=True)
    (run / PLAN_FILE).write_text("{}")
    assert find_runs(tmp_path) == [RunFolder(run)]


def test_folders_that_vanish_meanwhile_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, of_another = tmp_path / "Scenario", tmp_path / "session-1" / "node-1"
    for folder in (run, of_another, tmp_path / NODES_FOLDER):
        folder.mkdir(parents=True)
        (folder / PLAN_FILE).write_text("{}")
    scan = os.scandir

    def scan_late(path: str) -> object:
        if str(path) == str(of_another):
            (of_another / PLAN_FILE).unlink()
            of_another.rmdir()
        return scan(path)

    monkeypatch.setattr(os, "scandir", scan_late)
    assert find_runs(tmp_path) == [RunFolder(run)]


def test_no_run_is_an_error_that_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=PLAN_FILE):
        find_runs(tmp_path)


def test_a_broken_plan_names_its_file(tmp_path: Path) -> None:
    (tmp_path / PLAN_FILE).write_text("{")
    with pytest.raises(RunFolderError, match=PLAN_FILE):
        RunFolder(tmp_path).plan()


@pytest.mark.parametrize(
    "line", ["", "{", "[1, 2]", '["NoSuchError", "x"]', '["UsageError"]', '["__name__", "x"]']
)
def test_a_line_that_only_looks_like_a_refusal_is_passed_over(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refuse(UsageError("no such topic"))
    printed = capsys.readouterr().out.splitlines()
    prefix = printed[0].partition("[")[0]
    assert refusal_in([f"{prefix}{line}"]) is None
    found = refusal_in(["other", f"{prefix}{line}", *printed])
    assert isinstance(found, UsageError)
    assert str(found) == "no such topic"
