"""Segments as Kafka's own classes write them, whole and damaged, become tables that tell it."""

from pathlib import Path
from typing import Any

import pytest
from command import facts_of

from harness.decode.replica_files import ignored_files

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

RECORDS = 50_000
"""In one batch."""


def decode_segments(folder: Path, damage: str, records: int = RECORDS) -> dict[str, Any]:
    reported: dict[str, Any] = facts_of("segment_writer.py", folder, damage, records)
    return reported


def test_every_record_of_a_large_batch_becomes_a_row(tmp_path: Path) -> None:
    reported = decode_segments(tmp_path, "none")
    assert reported["rows"]["replica_records"] == RECORDS + 6
    assert reported["rows"]["replica_batches"] == 4
    assert reported["unread"] == []


@pytest.mark.parametrize(
    ("damage", "records", "error"),
    [
        ("torn", 6 + 4, None),
        ("torn_before", 6, "it ends within a batch"),
        ("corrupt", 6 + 4, "CorruptRecordException"),
    ],
)
def test_what_cannot_be_read_of_a_segment_is_reported(
    tmp_path: Path, damage: str, records: int, error: str | None
) -> None:
    reported = decode_segments(tmp_path, damage, 6)
    assert reported["rows"]["replica_records"] == records
    (unread,) = reported["unread"]
    assert (unread["topic"], unread["unread_bytes"] > 0) == ("t", True)
    assert unread["error"] is None if error is None else error in unread["error"]


def test_copies_of_files_are_left_out_and_counted(tmp_path: Path) -> None:
    reported = decode_segments(tmp_path, "copied", 6)
    assert reported["rows"]["replica_records"] == 12
    assert ignored_files(tmp_path / "segments" / "1") == 1


def test_what_was_cut_since_it_was_kept_is_reported_once(tmp_path: Path) -> None:
    reported = decode_segments(tmp_path, "truncated", 6)
    assert reported["rows"]["replica_records"] == 6 + 2
    assert reported["rows"]["cut_batches"] == 2
    assert [(row["offset"], row["taken_micros"]) for row in reported["cut"]] == [
        (offset, 7) for offset in range(8, 12)
    ]
