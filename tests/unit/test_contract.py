"""Values, outcomes, descriptions, places, waiting and clocks."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages_of import change_verdict, run_folder, verdict_of

from analysis.report.explain import _verdict
from cluster.refusal import refusal_in, refuse
from contract.errors import RunFolderError, UsageError, WaitTimeoutError
from contract.events import ClockRead, is_intact, make_value
from contract.files import SCHEMA, local_folder, place, read_described
from contract.manifest import MANIFEST_FILE, Manifest
from contract.nights import NIGHT_FILE, Night, read_night
from contract.run_folder import NODES_FOLDER, PLAN_FILE, RUN_FILE, RunFolder, find_runs
from contract.terms import (
    DEFINITE_COMMIT_FAILURES,
    DEFINITE_SEND_FAILURES,
    DEFINITE_TRANSACTION_FAILURES,
    NO_OFFSET,
    Outcome,
    commit_outcome,
    is_fencing,
    send_outcome,
    transaction_outcome,
)
from contract.waiting import limit_waits, wait_until
from harness.clients.history import HistoryWriter
from harness.decode.histories import read_histories
from harness.story.run import bounds
from tests.descriptions import description_of
from tests.made import make_struct

# Values, outcomes, waiting and run folders.


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
    ("outcome_of", "definite", "error", "outcome"),
    [
        (send_outcome, DEFINITE_SEND_FAILURES, None, "ok"),
        (send_outcome, DEFINITE_SEND_FAILURES, "RecordTooLargeException", "failed"),
        (send_outcome, DEFINITE_SEND_FAILURES, "NotEnoughReplicasAfterAppendException", "unknown"),
        (send_outcome, DEFINITE_SEND_FAILURES, "SomethingNew", "unknown"),
        (commit_outcome, DEFINITE_COMMIT_FAILURES, None, "ok"),
        (commit_outcome, DEFINITE_COMMIT_FAILURES, NO_OFFSET, "nothing"),
        (commit_outcome, DEFINITE_COMMIT_FAILURES, "CommitFailedException", "failed"),
        (commit_outcome, DEFINITE_COMMIT_FAILURES, "TimeoutException", "unknown"),
        (transaction_outcome, DEFINITE_TRANSACTION_FAILURES, None, "ok"),
        (transaction_outcome, DEFINITE_TRANSACTION_FAILURES, "ProducerFencedException", "failed"),
        (transaction_outcome, DEFINITE_TRANSACTION_FAILURES, "InvalidTxnStateException", "failed"),
        (transaction_outcome, DEFINITE_TRANSACTION_FAILURES, "TimeoutException", "unknown"),
    ],
)
def test_what_was_asked_for_failed_only_where_that_is_sure(
    outcome_of: Callable[..., Outcome], definite: frozenset[str], error: str | None, outcome: str
) -> None:
    assert outcome_of(error, definite) == outcome


def test_a_fenced_producer_is_reported_by_its_error() -> None:
    for name in ("InvalidProducerEpochException", "_FENCED", "ProducerFencedError"):
        assert is_fencing(name)
    assert not is_fencing("InvalidTxnStateException")
    assert not is_fencing(None)


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


# A description of a form that this release does not know is refused by name.


OLDER: dict[str, tuple[msgspec.Struct, Callable[[Path], object]]] = {
    MANIFEST_FILE: (
        make_struct(Manifest),
        lambda folder: read_described(folder / MANIFEST_FILE, Manifest),
    ),
    NIGHT_FILE: (make_struct(Night), read_night),
    "report/verdict.json": (verdict_of({}), lambda folder: _verdict(RunFolder(folder))),
}


@pytest.mark.parametrize("name", OLDER)
def test_a_description_of_another_form_is_refused(tmp_path: Path, name: str) -> None:
    content, read = OLDER[name]
    file = run_folder(tmp_path).path / name
    file.write_bytes(msgspec.json.encode(change_verdict(content, schema=SCHEMA + 1)))
    unknown = "has schema 2, and this release knows schema 1 only: use the release that wrote it"
    with pytest.raises(RunFolderError, match=f"{file} {unknown}"):
        read(tmp_path)


@pytest.mark.parametrize("key", ["seed", "started_micros"])
def test_a_description_with_a_key_twice_is_refused(tmp_path: Path, key: str) -> None:
    folder = RunFolder(tmp_path)
    folder.write_run(description_of())
    file = tmp_path / RUN_FILE
    file.write_text(file.read_text().replace("{", f'{{"{key}": 2, "{key}": 3,', 1))
    with pytest.raises(RunFolderError, match=f"the key '{key}' is there twice"):
        folder.run()


# Places by their paths and URIs.


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("results/latest", Path("results/latest")),
        ("/data/a:/b", Path("/data/a:/b")),
        ("./odd:/b", Path("./odd:/b")),
        ("-", Path("-")),
        ("a:/b", Path("a:/b")),
        ("file:///data/a%20run", Path("/data/a run")),
        ("file:/data/run", Path("/data/run")),
        ("FILE://localhost/data/run", Path("/data/run")),
        ("s3a://bucket/run/", "s3a://bucket/run/"),
        ("hdfs:///runs/a run", "hdfs:///runs/a run"),
        ("viewfs:/runs", "viewfs:/runs"),
    ],
)
def test_a_place_is_a_local_path_or_a_uri(name: str, expected: Path | str) -> None:
    assert place(name) == expected


def test_a_file_of_another_machine_is_refused() -> None:
    with pytest.raises(UsageError, match="names the machine other"):
        place("file://other/data")


def test_a_local_folder_is_no_uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert local_folder(tmp_path.as_uri()) == tmp_path
    with pytest.raises(UsageError, match="s3a://bucket/run is not on this machine"):
        local_folder("s3a://bucket/run")


# A wait ends with its own limit, or with that of the block that it is in.


NEVER = 3600


def waits(seconds: float = NEVER) -> str:
    looks: list[int] = []

    def probe() -> None:
        looks.append(1)

    with pytest.raises(WaitTimeoutError) as ended:
        wait_until(probe, what="a state", timeout_seconds=seconds)
    assert looks
    return str(ended.value)


def test_a_block_ends_the_waits_in_it() -> None:
    with limit_waits(0.1):
        assert "waited 0.1 s for a state" in waits()
        assert "waited 0 s" in waits(), "one that begins after the end looks once"
    assert "waited 0.2 s" in waits(0.2)


def test_the_earlier_end_holds() -> None:
    with limit_waits(0.1), limit_waits(NEVER):
        waits()
    with limit_waits(NEVER):
        with limit_waits(0):
            waits()
        assert wait_until(lambda: 7, what="seven", timeout_seconds=NEVER) == 7


def test_a_block_that_has_no_time_left_still_looks() -> None:
    with limit_waits(-5):
        assert wait_until(lambda: 7, what="seven", timeout_seconds=NEVER) == 7


def test_a_block_ends_the_waits_of_other_threads() -> None:
    reported: list[str] = []
    with limit_waits(0.1):
        waiting = threading.Thread(target=lambda: reported.append(waits()))
        waiting.start()
        waiting.join()
    assert "a state" in reported[0]


# How far a clock is ahead, by asking it.


def test_a_clock_is_bounded_by_when_it_was_asked() -> None:
    ahead, behind = bounds(lambda: time.time_ns() // 1000 + 5_000_000)
    assert behind <= 5_000_000 <= ahead
    assert ahead - behind < 1_000_000


def test_a_reading_becomes_a_row(tmp_path: Path) -> None:
    writer = HistoryWriter(tmp_path / "driver.jsonl")
    writer.write(ClockRead, node="node-1", ahead_micros=7, behind_micros=-3)
    writer.close()
    (row,) = read_histories(tmp_path).of("clocks")
    assert row.items() >= {"node": "node-1", "ahead_micros": 7, "behind_micros": -3}.items()
    assert row["at_micros"] > 0
